//! What is kept of the conversations of one table: records as they end, the largest of them, sums for services.

use nc_flow::FlowTable;
use nc_records::End;

use crate::account::Ground;
use crate::core::Core;
use crate::crew::side_by_side;
use crate::health_rows::Sums;
use crate::largest::Largest;
use crate::recording::{Chunk, Outlet, Recorder, Sink, Stopped};
use crate::service_rows::Chosen;

/// Conversations of one table written down before the next one has its turn: whole blocks, but not too much to hold.
const TURN: usize = 1 << 14;

pub(crate) struct Keeper {
    recorder: Option<Recorder>,
    pub largest: Largest,
    pub sums: Sums,
}

impl Keeper {
    /// One for each table. `outlet`: where records go; `top`: rows of flows wanted.
    pub fn for_each(tables: usize, outlet: Option<&Outlet>, top: Option<usize>) -> Vec<Self> {
        let one = |sums| Self { recorder: outlet.map(Outlet::recorder), largest: Largest::new(top), sums };
        Sums::for_each(tables).into_iter().map(one).collect()
    }

    /// Take over what the table has let go of; bytes, when a block is full.
    pub fn drain(&mut self, flows: &mut FlowTable, ground: &Ground) -> Option<Chunk> {
        flows.gone().next()?;
        self.largest.note(flows, ground);
        self.sums.note_gone(flows);
        let recorder = self.recorder.as_mut()?;
        recorder.drain(flows, ground);
        recorder.take(false)
    }
}

type Give<'a> = (&'a mut Outlet, &'a mut dyn Sink);

/// One table at the end of a run.
struct Lot<'a, W> {
    flows: &'a FlowTable,
    keeper: &'a mut Keeper,
    ways: W,
    ready: Vec<Chunk>,
    is_over: bool,
}

impl<W: Iterator<Item = [u32; 2]>> Lot<'_, W> {
    /// `give`: where blocks go at once; they wait in `ready` without.
    fn turn(&mut self, ground: &Ground, chosen: &Chosen, mut give: Option<Give<'_>>) -> Result<(), Stopped> {
        let Keeper { recorder, sums, .. } = &mut *self.keeper;
        self.is_over = true;
        for ways in self.ways.by_ref().take(TURN) {
            self.is_over = false;
            sums.sum(self.flows, ways, chosen);
            let Some(recorder) = recorder else { continue };
            recorder.add(self.flows, ground, ways, End::Forced);
            match (recorder.take(false), &mut give) {
                (Some(chunk), Some((outlet, sink))) => outlet.give([chunk], *sink)?,
                (chunk, _) => self.ready.extend(chunk),
            }
        }
        if let Some(recorder) = recorder.as_mut().filter(|_| self.is_over) {
            self.ready.extend(recorder.take(true));
        }
        give.map_or(Ok(()), |(outlet, sink)| outlet.give(self.ready.drain(..), sink))
    }
}

/// The end: sum up everything that is still in the tables, and write it and what waits down. The tables take turns, so that the order is
/// the same however many threads write. Returns which services it told apart.
pub(crate) fn sum_up(
    threads: usize,
    keepers: &mut [Keeper],
    core: &mut Core,
    mut outlet: Option<&mut Outlet>,
    sink: &mut dyn Sink,
) -> Result<Chosen, Stopped> {
    let mut pairs: Vec<_> = keepers.iter_mut().zip(core.flows.tables_mut()).collect();
    side_by_side(threads, &mut pairs, |_, (keeper, flows)| keeper.sums.choose_all(flows));
    let tables = core.flows.tables();
    let mut sums: Vec<_> = keepers.iter_mut().map(|keeper| &mut keeper.sums).collect();
    let chosen = Chosen::of(tables, core.points.len() as u16, &mut sums);
    let both = keepers.iter_mut().zip(tables);
    let mut lots: Vec<_> = both
        .map(|(keeper, flows)| Lot { flows, keeper, ways: flows.conversations(), ready: Vec::new(), is_over: false })
        .collect();
    while lots.iter().any(|lot| !lot.is_over) {
        // As many at once as there are threads: what they have ready is still near when it is handed over.
        for some in lots.chunks_mut(threads.max(1)) {
            if let ([lot], Some(outlet)) = (&mut *some, &mut outlet) {
                lot.turn(&core.ground, &chosen, Some((outlet, sink)))?;
                continue;
            }
            // Nobody can stop a turn that hands over nothing.
            side_by_side(threads, some, |_, lot| {
                let _ = lot.turn(&core.ground, &chosen, None);
            });
            if let Some(outlet) = &mut outlet {
                some.iter_mut().try_for_each(|lot| outlet.give(lot.ready.drain(..), sink))?;
            }
        }
    }
    outlet.map_or(Ok(()), |outlet| outlet.finish(sink))?;
    Ok(chosen)
}
