//! The tunnel that offending packets were carried in: what its ends send for others is no offence of theirs.

use nc_flow::address;
use serde_json::{json, Value};

/// Seen at the first offending packet. `version`, `src`, `dst`, `dscp`: of the header right above the carried packet's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub tunnel: &'static str,
    pub tunnel_id: Option<u32>,
    pub version: u8,
    pub src: u128,
    pub dst: u128,
    pub dscp: u8,
}

impl Carrier {
    /// Packets of one network: its tunnels may have several ends.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.tunnel, self.tunnel_id) == (other.tunnel, other.tunnel_id)
    }

    pub(crate) fn evidence(&self) -> Value {
        json!({
            "kind": "carried", "tunnel": self.tunnel, "tunnel_id": self.tunnel_id, "outer_src": address(self.version, self.src),
            "outer_dst": address(self.version, self.dst), "outer_dscp": self.dscp,
        })
    }
}
