//! One capture accounted by several threads. A block of packets is read, decoded and dealt to the logical shards of the flow table;
//! each shard accounts its packets; then what needs all packets in their order is done, by the caller's thread. Every step takes the
//! blocks in their order, one at a time, and may be done by any thread: how many there are, and how long a block is, changes nothing.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{scope, Builder};

use nc_decode::{Packet, Tunnel};
use nc_flow::{Ahead, FlowKey, FlowTable, Fragments, TcpCounts, TcpEvent, NO_QP};

use crate::account::{is_notable, note, Breach, Ground};
use crate::carried::Carried;
use crate::core::{Core, TICK_NS};
use crate::crew::lock;
use crate::flows::{accounted, look_ahead, shard_of, turns, SHARDS};
use crate::keeper::Keeper;
use crate::names::Names;
use crate::offline::{Few, Input, BATCH};
use crate::recording::{Chunk, Stopped};

/// Packets of a block: enough that handing one over costs nothing beside it.
const BLOCK: usize = 2_048;
/// Blocks under way at once.
const WAITING: u64 = 6;

/// Packets of one block for one shard, in their order, and what it made of them. `ports`: of its fragments. `breaches` and `chunks` come
/// with the place of the packet, and the number of the tick.
#[derive(Default)]
struct Part {
    packets: Vec<Packet>,
    ports: Vec<(u16, u16)>,
    breaches: Vec<(usize, Breach)>,
    chunks: Vec<(usize, Chunk)>,
}

/// The block's packets in their order, by shard; `ticks`: when the tables look for conversations that are over; `carried`: what is
/// inside of some, with their place.
#[derive(Default)]
struct Head {
    order: Vec<u8>,
    carried: Vec<(usize, Carried)>,
    ticks: Vec<Tick>,
}

/// `at`: packets of each shard that come before.
struct Tick {
    now_ns: u64,
    at: [usize; SHARDS],
}

#[derive(Default)]
struct Slot {
    head: RwLock<Head>,
    parts: [Mutex<Part>; SHARDS],
}

/// Which blocks are where. `next`: of each shard. `ended`: the block prepared last is the last one.
#[derive(Default)]
struct Plan {
    prepared: u64,
    ended: bool,
    preparing: bool,
    next: [u64; SHARDS],
    busy: [bool; SHARDS],
    settled: u64,
    stopped: bool,
    waiting: usize,
}

#[derive(Clone, Copy)]
enum Task {
    Prepare(u64),
    Shard(usize, u64),
    Settle(u64),
}

impl Plan {
    fn is_over(&self) -> bool {
        self.stopped || self.ended && self.settled == self.prepared
    }

    /// What others wait for comes first. `home`: the shard that a thread takes by preference.
    fn choose(&mut self, settles: bool, home: usize) -> Option<Task> {
        if settles && self.next.iter().all(|next| *next > self.settled) {
            return Some(Task::Settle(self.settled));
        }
        if !self.ended && !self.preparing && self.prepared < self.settled + WAITING {
            self.preparing = true;
            return Some(Task::Prepare(self.prepared));
        }
        let all = (0..SHARDS).map(|shard| (shard + home) % SHARDS);
        let free = all.filter(|shard| !self.busy[*shard] && self.next[*shard] < self.prepared);
        let shard = free.min_by_key(|shard| self.next[*shard])?;
        self.busy[shard] = true;
        Some(Task::Shard(shard, self.next[shard]))
    }

    fn done(&mut self, task: Task, ended: bool) {
        match task {
            Task::Prepare(_) => {
                self.preparing = false;
                self.prepared += 1;
                self.ended = ended;
            }
            Task::Shard(shard, _) => {
                self.busy[shard] = false;
                self.next[shard] += 1;
            }
            Task::Settle(_) => self.settled += 1,
        }
    }
}

/// Reads, decodes and deals; `names` and `fragments` need all packets in their order.
struct Dealer<'a> {
    input: &'a mut Input,
    names: Names,
    fragments: Fragments,
    realm: u16,
    now_ns: u64,
    next_tick_ns: u64,
}

impl Dealer<'_> {
    /// True at the end of the capture.
    fn deal(&mut self, slot: &Slot) -> bool {
        let mut head = slot.head.write().unwrap_or_else(PoisonError::into_inner);
        let mut parts = slot.parts.each_ref().map(lock);
        parts.iter_mut().for_each(|part| part.clear());
        head.order.clear();
        head.ticks.clear();
        head.carried.clear();
        while head.order.len() < BLOCK {
            let Few { packets, mut carried } = self.input.next(BATCH, &mut self.names);
            if packets.is_empty() {
                return true;
            }
            for (place, packet) in packets.iter().enumerate() {
                self.now_ns = self.now_ns.max(packet.ts_ns);
                if self.now_ns >= self.next_tick_ns {
                    self.next_tick_ns = self.now_ns.saturating_add(TICK_NS);
                    head.ticks.push(Tick { now_ns: self.now_ns, at: parts.each_ref().map(|part| part.packets.len()) });
                }
                let ends = self.fragments.ports(packet);
                let shard = if packet.is_ip() { shard_of(&FlowKey::of(packet, self.realm, ends), SHARDS) } else { 0 };
                if packet.is_ip() && packet.is_fragment() {
                    parts[shard].ports.push(ends);
                }
                // By the slice: a value would go over the stack.
                parts[shard].packets.extend_from_slice(from_ref(packet));
                if packet.tunnel != Tunnel::None {
                    let at = head.order.len();
                    head.carried.extend(carried.of(place).map(|inner| (at, *inner)));
                }
                head.order.push(shard as u8);
            }
        }
        false
    }
}

impl Part {
    fn clear(&mut self) {
        self.packets.clear();
        self.ports.clear();
        self.breaches.clear();
        self.chunks.clear();
    }
}

/// One shard of the flow table with all that is kept of it.
struct Desk {
    flows: FlowTable,
    keeper: Keeper,
    tcp: TcpCounts,
    realm: u16,
    /// Records looked at in each tick.
    sweep: usize,
    ahead: Vec<Ahead>,
}

impl Desk {
    fn work(&mut self, ground: &Ground, shard: usize, head: &Head, part: &mut Part) {
        let (mut from, mut fragments) = (0, 0);
        for (number, tick) in head.ticks.iter().enumerate() {
            self.some(ground, part, from..tick.at[shard], &mut fragments);
            part.chunks.extend(self.keeper.drain(&mut self.flows, ground).map(|chunk| (number, chunk)));
            self.flows.expire(tick.now_ns, self.sweep);
            from = tick.at[shard];
        }
        self.some(ground, part, from..part.packets.len(), &mut fragments);
    }

    fn some(&mut self, ground: &Ground, part: &mut Part, range: Range<usize>, fragments: &mut usize) {
        let Part { packets, ports: ends, breaches, .. } = part;
        let Self { flows, tcp, realm, ahead, .. } = self;
        let mut place = range.start;
        for batch in packets[range].chunks(BATCH) {
            for turn in turns(batch.len()) {
                look_ahead(from_ref(flows), *realm, batch, turn, ahead);
                for at in accounted(turn, batch.len()) {
                    let (packet, ahead) = (&batch[at], &ahead[at]);
                    let seen = match ahead.is_something() {
                        true => flows.observe_ahead(ahead, 0, packet),
                        false if packet.is_ip() => {
                            *fragments += 1;
                            flows.observe(FlowKey::of(packet, *realm, ends[*fragments - 1]), 0, packet)
                        }
                        false => None,
                    };
                    if let Some(seen) = seen {
                        if is_notable(ground, seen.1, packet) {
                            note(flows, ground, seen, packet, |breach| breaches.push((place, breach)));
                        }
                        if seen.1.is(TcpEvent::COUNTED) {
                            tcp.add(seen.1);
                        }
                    }
                    place += 1;
                }
            }
        }
    }
}

struct Line<'a> {
    plan: Mutex<Plan>,
    changed: Condvar,
    slots: Vec<Slot>,
    dealer: Mutex<Dealer<'a>>,
    desks: Vec<Mutex<Desk>>,
    ground: Arc<Ground>,
}

/// The caller's thread: what needs the order of all packets, and its sink. Blocks of records that are full come with the packets.
pub(crate) type Settle<'s> = dyn FnMut(&mut Core, u64, Vec<Chunk>) -> Result<(), Stopped> + 's;

/// Account all of `input`, the only point of `core`, on up to `threads` threads.
pub(crate) fn share_out(
    core: &mut Core,
    input: &mut Input,
    keepers: &mut Vec<Keeper>,
    threads: usize,
    settle: &mut Settle<'_>,
) -> Result<(), Stopped> {
    let (realm, sweep) = (core.points[0].realm, core.sweep / SHARDS);
    let desk = |(flows, keeper)| {
        Mutex::new(Desk { flows, keeper, tcp: TcpCounts::default(), realm, sweep, ahead: Vec::new() })
    };
    let line = Line {
        plan: Mutex::default(),
        changed: Condvar::new(),
        slots: (0..WAITING).map(|_| Slot::default()).collect(),
        dealer: Mutex::new(Dealer {
            input,
            names: std::mem::take(&mut core.names),
            fragments: std::mem::take(&mut core.fragments),
            realm,
            now_ns: 0,
            next_tick_ns: 0,
        }),
        desks: core.flows.lend().into_iter().zip(keepers.drain(..)).map(desk).collect(),
        ground: Arc::clone(&core.ground),
    };
    let result = scope(|scope| {
        for helper in 1..threads {
            let line = &line;
            let work = move || line.work(helper * SHARDS / threads, None);
            let _ = Builder::new().name("account".into()).spawn_scoped(scope, work);
        }
        line.work(0, Some((core, settle)))
    });
    let Line { dealer, desks, .. } = line;
    let dealer = dealer.into_inner().unwrap_or_else(PoisonError::into_inner);
    (core.names, core.fragments) = (dealer.names, dealer.fragments);
    let mut tables = Vec::new();
    for desk in desks {
        let desk = desk.into_inner().unwrap_or_else(PoisonError::into_inner);
        core.points[0].tcp.merge(&desk.tcp);
        tables.push(desk.flows);
        keepers.push(desk.keeper);
    }
    core.flows.give_back(tables);
    result
}

/// Ends the others when its thread panics.
struct Alarm<'l, 'a>(&'l Line<'a>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl Line<'_> {
    fn stop(&self) {
        lock(&self.plan).stopped = true;
        self.changed.notify_all();
    }

    /// Do what there is to do until all is done.
    fn work(&self, home: usize, mut first: Option<(&mut Core, &mut Settle<'_>)>) -> Result<(), Stopped> {
        let _alarm = Alarm(self);
        while let Some(task) = self.wait(first.is_some(), home) {
            let mut ended = false;
            match (task, &mut first) {
                (Task::Prepare(block), _) => {
                    ended = lock(&self.dealer).deal(self.slot(block));
                }
                (Task::Shard(shard, block), _) => {
                    let slot = self.slot(block);
                    let head = slot.head.read().unwrap_or_else(PoisonError::into_inner);
                    lock(&self.desks[shard]).work(&self.ground, shard, &head, &mut lock(&slot.parts[shard]));
                }
                (Task::Settle(block), Some((core, settle))) => {
                    let settled = self.slot(block).settle(core, settle);
                    if settled.is_err() {
                        self.stop();
                        return settled;
                    }
                }
                (Task::Settle(_), None) => {}
            }
            let mut plan = lock(&self.plan);
            plan.done(task, ended);
            if plan.waiting > 0 {
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    fn slot(&self, block: u64) -> &Slot {
        &self.slots[(block % WAITING) as usize]
    }

    fn wait(&self, settles: bool, home: usize) -> Option<Task> {
        let mut plan = lock(&self.plan);
        loop {
            if plan.is_over() {
                return None;
            }
            if let Some(task) = plan.choose(settles, home) {
                return Some(task);
            }
            plan.waiting += 1;
            plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
            plan.waiting -= 1;
        }
    }
}

impl Slot {
    /// All packets once more in their order, with what their shards found.
    fn settle(&self, core: &mut Core, settle: &mut Settle<'_>) -> Result<(), Stopped> {
        let head = self.head.read().unwrap_or_else(PoisonError::into_inner);
        let mut parts: [MutexGuard<'_, Part>; SHARDS] = self.parts.each_ref().map(lock);
        let (mut places, mut found) = ([0; SHARDS], [0; SHARDS]);
        let mut carried = head.carried.iter().peekable();
        for (place, shard) in head.order.iter().map(|shard| usize::from(*shard)).enumerate() {
            let part = &parts[shard];
            let packet = &part.packets[places[shard]];
            core.begin(0, packet);
            while let Some((_, breach)) = part.breaches.get(found[shard]).filter(|(place, _)| *place == places[shard]) {
                core.charge(0, packet, breach);
                found[shard] += 1;
            }
            if packet.is_ip() && packet.has_bth {
                core.rdma(0, packet, true, NO_QP);
            }
            while let Some((_, inner)) = carried.next_if(|(at, _)| *at == place) {
                core.carried(0, inner);
            }
            places[shard] += 1;
        }
        let mut chunks: Vec<_> = parts.iter_mut().flat_map(|part| part.chunks.drain(..)).collect();
        // Stable: shards in their order within a tick.
        chunks.sort_by_key(|(tick, _)| *tick);
        settle(core, head.order.len() as u64, chunks.into_iter().map(|(_, chunk)| chunk).collect())
    }
}
