//! Hours and peaks of identities: `over-peak`, `outside-window`, `bulk-into-business-hours`.

use nc_decode::Packet;
use nc_detect::{thresholds, Bundle, Identity, Name};
use nc_flow::Counted;

use crate::core::Core;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// Of one identity: whether this minute lies in its hours, and what all its addresses sent in this minute and second.
#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    minute: Option<u64>,
    is_inside: bool,
    outside_bytes: u64,
    second: u64,
    bytes: u64,
}

/// By number of the identity; empty while no identity has limits.
#[derive(Default)]
pub(crate) struct Limits(Vec<Usage>);

impl Limits {
    pub fn of(bundle: &Bundle) -> Self {
        Self(if bundle.has_limits() { vec![Usage::default(); bundle.count() + 1] } else { Vec::new() })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Usage {
    /// Whether this packet is sent outside the identity's hours, and is more than upkeep.
    fn is_outside(&mut self, identity: &Identity, packet: &Packet) -> bool {
        let Some(window) = &identity.window else { return false };
        let minute = packet.ts_ns / MINUTE;
        if self.minute != Some(minute) {
            (self.minute, self.is_inside, self.outside_bytes) = (Some(minute), window.holds(packet.ts_ns), 0);
        }
        self.outside_bytes += u64::from(packet.frame_len);
        !self.is_inside && self.outside_bytes > thresholds::UPKEEP_BYTES
    }

    /// Whether this packet goes beyond what the identity may send in a second.
    fn is_over(&mut self, identity: &Identity, packet: &Packet) -> bool {
        let Some(peak_bps) = identity.peak_bps else { return false };
        let second = packet.ts_ns / SECOND;
        if second > self.second {
            (self.second, self.bytes) = (second, 0);
        }
        self.bytes += u64::from(packet.frame_len);
        second == self.second && self.bytes * 8 > peak_bps
    }
}

impl Core {
    /// Is the sender within its hours and its peak? A flow that began within its hours and has moved much by now is bulk.
    pub(crate) fn judge_limits(&mut self, number: u32, point: u16, packet: &Packet) {
        let who = self.flows.sender(number);
        let Some(bundle) = self.judge.bundle().cloned() else { return };
        let (Some(identity), Some(usage)) = (bundle.identity(who), self.limits.0.get_mut(who as usize)) else { return };
        let is_over = usage.is_over(identity, packet);
        if usage.is_outside(identity, packet) {
            let flow = self.flows.flow(number);
            let began_inside = identity.window.as_ref().is_some_and(|window| window.holds(flow.first_ns));
            let (name, what) = match began_inside && flow.bytes() >= thresholds::BULK_BYTES {
                true => (Name::BulkIntoBusinessHours, Counted::Bulk),
                false => (Name::OutsideWindow, Counted::Hours),
            };
            self.exceed(number, point, packet, name, what);
        }
        if is_over {
            self.exceed(number, point, packet, Name::OverPeak, Counted::Peak);
        }
    }

    fn exceed(&mut self, number: u32, point: u16, packet: &Packet, name: Name, what: Counted) {
        let new_flow = self.flows.first_time(number, packet.dscp, what);
        self.offend(number, point, packet, (name, packet.dscp, None), new_flow);
    }
}
