//! The clock of marks alone, for counting its instructions: `dscp_clock PACKETS` counts so many, a third of a microsecond apart.

use nc_flow::DscpClock;

fn main() {
    let packets: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut clock = DscpClock::default();
    for number in 0..packets {
        clock.add(number * 333, (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8, 400);
    }
    println!("{} packets", clock.totals().iter().map(|mark| mark.packets).sum::<u64>());
}
