//! Packets that tunnels carry, held against their own senders: a forbidden mark is one wherever it is seen.

use nc_flow::{FlowKey, FlowTable, Fragments, Limits};

use crate::account::{note, Breach};
use crate::carried::Carried;
use crate::core::{Core, IDLE_NS};
use crate::point::Seconds;

/// Carried conversations that are told apart, of all points. They are forgotten when they are idle, for nothing is reported of them.
const FLOWS: usize = 1 << 16;

/// `flows`: who began each conversation, who is behind it, what its payload showed; made when the first packet is judged. `seconds`: by point.
pub(crate) struct Inside {
    flows: Option<FlowTable>,
    fragments: Fragments,
    seconds: Vec<Seconds>,
}

impl Inside {
    pub fn new(points: usize) -> Self {
        Self {
            flows: None,
            fragments: Fragments::default(),
            seconds: (0..points).map(|_| Seconds::default()).collect(),
        }
    }

    pub fn expire(&mut self, now_ns: u64, steps: usize) {
        self.flows.iter_mut().for_each(|flows| flows.expire(now_ns, steps));
    }

    /// Packets of conversations that found no room and were not judged.
    pub fn overflow(&self) -> u64 {
        self.flows.as_ref().map_or(0, |flows| flows.overflow() + flows.sightings_overflow())
    }
}

impl Core {
    /// Judge a packet that came inside the one accounted last. Its addresses are those of the point's realm.
    #[cold]
    pub fn carried(&mut self, number: u16, carried: &Carried) {
        if self.ground.bundle.is_none() {
            return;
        }
        let packet = &carried.packet;
        let realm = self.points[usize::from(number)].realm;
        let Self { inside: Inside { flows, fragments, seconds }, ground, judge, verdicts, .. } = self;
        let flows = flows.get_or_insert_with(|| FlowTable::new(Limits { flows: FLOWS, idle_ns: Some(IDLE_NS) }));
        let seconds = &mut seconds[usize::from(number)];
        seconds.add(packet);
        let seen = flows.observe(FlowKey::of(packet, realm, fragments.ports(packet)), number, packet);
        let Some(seen) = seen else { return };
        note(flows, ground, seen, packet, |breach| {
            let breach = Breach { carrier: Some(carried.carrier()), ..breach };
            if breach.name.is_of_identity() {
                breach.charge(judge, ground, (number, realm, seconds), packet, verdicts);
            }
        });
    }
}
