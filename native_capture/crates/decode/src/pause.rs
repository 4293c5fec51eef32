//! MAC control frames that stop a sender: PAUSE (802.3, annex 31B) and priority flow control (802.1Q, clause 36).

use crate::be16;
use crate::error::{DecodeError, Layer, Reason};
use crate::packet::Packet;

/// Which kind of stop a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    #[default]
    None,
    /// The whole link.
    Pause,
    /// Single priorities.
    Pfc,
}

/// Where all pause frames go (802.3 annex 31B, 802.1Q 36.1).
const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];

/// `at`: the opcode behind EtherType 0x8808. Other MAC control opcodes stop nobody.
pub(crate) fn parse(bytes: &[u8], at: usize, packet: &mut Packet) -> Result<(), DecodeError> {
    let fail = DecodeError::new(Layer::Pause, Reason::Short, at);
    if bytes.starts_with(&GROUP) {
        let from = bytes.get(6..12).unwrap_or_default();
        packet.dst = from.iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte));
    }
    match be16(bytes, at).ok_or(fail)? {
        0x0001 => {
            packet.stop = Stop::Pause;
            packet.stop_classes = 0xff;
            let quanta = be16(bytes, at + 2).ok_or(fail)?;
            packet.set_quanta(&[quanta; 8]);
        }
        0x0101 => {
            let mut quanta = [0; 8];
            for (class, value) in quanta.iter_mut().enumerate() {
                *value = be16(bytes, at + 4 + class * 2).ok_or(fail)?;
            }
            packet.stop = Stop::Pfc;
            packet.stop_classes = be16(bytes, at + 2).ok_or(fail)? as u8;
            packet.set_quanta(&quanta);
        }
        _ => {}
    }
    Ok(())
}
