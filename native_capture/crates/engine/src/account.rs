//! What one table of flows makes of a packet; any thread may do it, for it needs nothing else that changes.

use std::sync::Arc;

use nc_decode::Packet;
use nc_detect::{Bundle, Carrier, Judge, Name, Offence, Place, Stuck, Verdict};
use nc_flow::{Counted, FlowKey, FlowTable, Signature, Signatures, Tally, TcpEvent};

use crate::point::Seconds;

/// What holds until there is another bundle: who is who, and the names of points, realms and signatures.
#[derive(Clone)]
pub(crate) struct Ground {
    pub places: Vec<Place>,
    pub realms: Vec<String>,
    pub bundle: Option<Arc<Bundle>>,
    /// Of the bundle; identities that flows remember from an older one are void.
    pub generation: u16,
    pub signatures: Arc<Signatures>,
}

impl Ground {
    pub fn realm_of(&self, point: u16) -> &str {
        self.places.get(usize::from(point)).map_or("", |place| place.realm.as_str())
    }

    /// The name of whoever has this address at a point.
    pub fn name_of(&self, point: u16, version: u8, address: u128) -> Option<&str> {
        let bundle = self.bundle.as_ref()?;
        Some(bundle.identity(bundle.find(self.realm_of(point), version, address))?.name.as_str())
    }

    /// Signatures of a conversation that enough packets showed, and how many did.
    pub fn signatures_in(&self, tally: Tally) -> impl Iterator<Item = (&Arc<Signature>, u32)> {
        self.signatures.named_by(tally)
    }
}

/// A packet with a mark that its sender may not use, and what its flow was then. `changed_to`: the network changed the mark to this.
/// `carrier`: the tunnel the packet came in.
pub(crate) struct Breach {
    pub name: Name,
    pub key: FlowKey,
    pub server_port: u16,
    pub who: u32,
    pub dscp: u8,
    pub new_flow: bool,
    pub changed_to: Option<u8>,
    pub tally: Tally,
    /// Of [`Name::MtuBlackhole`]: what the packet counts as.
    pub event: TcpEvent,
    pub carrier: Option<Carrier>,
}

impl Breach {
    /// `number`: of the flow.
    pub fn of(flows: &FlowTable, number: u32, name: Name, dscp: u8, new_flow: bool) -> Self {
        Self {
            name,
            key: flows.key(number),
            server_port: flows.server_port(number),
            who: flows.sender(number),
            dscp,
            new_flow,
            changed_to: None,
            tally: flows.tally(number),
            event: TcpEvent::default(),
            carrier: None,
        }
    }

    /// Hold it against its sender. `number`, `realm`: of the point; `seconds`: what it saw among such packets; `packet`: which one.
    pub fn charge(
        &self,
        judge: &mut Judge,
        ground: &Ground,
        (number, realm, seconds): (u16, u16, &Seconds),
        packet: &Packet,
        verdicts: &mut Vec<Verdict>,
    ) {
        if self.name == Name::MtuBlackhole {
            return self.charge_size(judge, (number, realm), packet, verdicts);
        }
        let offence = Offence {
            name: self.name,
            key: &self.key,
            server_port: self.server_port,
            who: self.who,
            dscp: self.dscp,
            point: number,
            ts_ns: packet.ts_ns,
            frame_len: packet.frame_len,
            ip_id: packet.ip_id,
            new_flow: self.new_flow,
            changed_to: self.changed_to,
            told: None,
            carrier: self.carrier,
        };
        // A rewritten mark is measured where it arrives, among packets of the new mark.
        let dscp = self.changed_to.unwrap_or(self.dscp);
        let named = ground.signatures_in(self.tally).map(|(signature, _)| signature);
        judge.offend(&offence, named, |second| seconds.bytes(second, dscp), verdicts);
    }

    /// A packet that tells of a segment too large for its way: the segment itself, or a router.
    fn charge_size(&self, judge: &mut Judge, (point, realm): (u16, u16), packet: &Packet, verdicts: &mut Vec<Verdict>) {
        if self.event.is(TcpEvent::TOO_BIG) {
            return judge.hear_too_big(realm, packet);
        }
        let (rounds, vanishes) = (self.event.rounds(), self.event.is(TcpEvent::VANISHES));
        let Self { key, server_port, who, .. } = self;
        judge.note_stuck(
            &Stuck { key, server_port: *server_port, who: *who, point, packet, rounds, vanishes },
            verdicts,
        );
    }
}

/// Whether a packet that counts as this is to be [noted](note): nearly none is while nobody is judged.
#[inline(always)]
pub(crate) fn is_notable(ground: &Ground, event: TcpEvent, packet: &Packet) -> bool {
    let tells = packet.name != 0 || packet.signature != 0;
    tells || event.is(TcpEvent::STUCK | TcpEvent::TOO_BIG) || ground.bundle.is_some()
}

/// What a packet tells goes to its flow, of this number in this table, where it counts as `event`. A mark that is not its sender's own, and
/// segments too large, go to `breach`.
pub(crate) fn note(
    flows: &mut FlowTable,
    ground: &Ground,
    (flow, event): (u32, TcpEvent),
    packet: &Packet,
    mut breach: impl FnMut(Breach),
) {
    if packet.name != 0 || packet.signature != 0 {
        note_payload(flows, ground, flow, event, packet);
    }
    if event.is(TcpEvent::STUCK | TcpEvent::TOO_BIG) {
        breach(of_size(flows, flow, event, packet));
    }
    if let Some(bundle) = &ground.bundle {
        judge(flows, ground, bundle, flow, packet, breach);
    }
}

#[cold]
#[inline(never)]
fn of_size(flows: &FlowTable, flow: u32, event: TcpEvent, packet: &Packet) -> Breach {
    Breach { event, ..Breach::of(flows, flow, Name::MtuBlackhole, packet.dscp, false) }
}

#[inline(never)]
fn note_payload(flows: &mut FlowTable, ground: &Ground, flow: u32, event: TcpEvent, packet: &Packet) {
    if packet.name != 0 {
        flows.name_server(flow, packet.name);
    }
    if packet.signature != 0 && !event.is(TcpEvent::RETRANSMITTED) {
        flows.sighted(flow, packet, &ground.signatures);
    }
}

#[inline(never)]
fn judge(
    flows: &mut FlowTable,
    ground: &Ground,
    bundle: &Bundle,
    flow: u32,
    packet: &Packet,
    breach: impl FnOnce(Breach),
) {
    if !is_judged(packet) {
        return;
    }
    if let Some(name) = breach_of(flows, ground, bundle, flow, packet) {
        // The end of a tunnel passes on the mark of what it carries (RFC 2983, 3): the sender of that is judged.
        if name == Name::UnknownIdentityInPriority && packet.inner_dscp == packet.dscp {
            return;
        }
        let new_flow = flows.first_time(flow, packet.dscp, Counted::Offence);
        breach(Breach::of(flows, flow, name, packet.dscp, new_flow));
    }
}

/// ICMP errors carry the mark of the packet they answer; only echo is judged.
pub(crate) fn is_judged(packet: &Packet) -> bool {
    !packet.is_icmp() || packet.is_echo()
}

/// Is the mark its sender's own?
fn breach_of(flows: &mut FlowTable, ground: &Ground, bundle: &Bundle, number: u32, packet: &Packet) -> Option<Name> {
    let find = |key: &FlowKey| bundle.find(&ground.realms[usize::from(key.realm)], key.version, key.src);
    let sender = flows.sender_in(number, ground.generation, find);
    bundle.breach(sender, packet.dscp)
}
