//! Packets and bytes of a flow in 16 bytes.

const PACKETS: u32 = 40;
const BYTES: u32 = 48;

/// One number of 128 bits, so that a packet costs one addition: packets (40 bits), bytes of frames (48) and, above them, how many of
/// those stand before the IP header or after its end (40 bits; negative where the header claims more than the frame holds).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals([u64; 2]);

impl Totals {
    pub fn add(&mut self, frame_len: u32, ip_len: u32) {
        let around = i128::from(frame_len) - i128::from(ip_len);
        let packet = 1 | u128::from(frame_len) << PACKETS | (around as u128) << (PACKETS + BYTES);
        let sum = self.number().wrapping_add(packet);
        self.0 = [sum as u64, (sum >> 64) as u64];
    }

    fn number(&self) -> u128 {
        u128::from(self.0[1]) << 64 | u128::from(self.0[0])
    }

    pub fn packets(&self) -> u64 {
        self.0[0] & ((1 << PACKETS) - 1)
    }

    pub fn bytes(&self) -> u64 {
        (self.number() >> PACKETS) as u64 & ((1 << BYTES) - 1)
    }

    /// From the IP header to the end of the packet.
    pub fn ip_bytes(&self) -> u64 {
        let around = self.0[1] as i64 >> (PACKETS + BYTES - 64);
        (self.bytes() as i64 - around) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_also_where_headers_claim_more_than_frames_hold() {
        let mut totals = Totals::default();
        let (mut bytes, mut ip_bytes) = (0, 0);
        for (frame, ip) in [(60, 40), (1_514, 1_500), (60, 65_535), (900_000, 0), (0, 20), (900_000, 900_000)] {
            for _ in 0..1_000 {
                totals.add(frame, ip);
                (bytes, ip_bytes) = (bytes + u64::from(frame), ip_bytes + u64::from(ip));
            }
        }
        assert_eq!((totals.packets(), totals.bytes(), totals.ip_bytes()), (6_000, bytes, ip_bytes));
    }
}
