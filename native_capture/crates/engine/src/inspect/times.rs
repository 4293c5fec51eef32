//! Time stamps of one capture.

use serde::Serialize;

/// `backwards`: frames stamped before one that stands earlier; `most_back_ns` the furthest. `ties`: frames with the stamp of the frame
/// before; `longest_tie` the most frames with one stamp. `unit_ns`: every stamp is a multiple of it (1, 1,000 or 1,000,000).
#[derive(Default, Serialize)]
pub(super) struct Times {
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    backwards: u64,
    most_back_ns: u64,
    ties: u64,
    longest_tie: u64,
    unit_ns: u64,
    #[serde(skip)]
    before: Option<u64>,
    #[serde(skip)]
    run: u64,
    #[serde(skip)]
    finer: [bool; 2],
}

impl Times {
    pub fn count(&mut self, ns: u64) {
        self.finer[0] |= ns % 1_000 != 0;
        self.finer[1] |= ns % 1_000_000 != 0;
        self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
        if let Some(last) = self.last_ns.filter(|last| ns < *last) {
            self.backwards += 1;
            self.most_back_ns = self.most_back_ns.max(last - ns);
        }
        if self.before == Some(ns) {
            self.ties += 1;
            self.run += 1;
        } else {
            self.run = 1;
        }
        self.longest_tie = self.longest_tie.max(self.run);
        self.before = Some(ns);
        self.last_ns = self.last_ns.max(Some(ns));
    }

    pub fn finish(&mut self) {
        self.unit_ns = match self.finer {
            [true, _] => 1,
            [_, true] => 1_000,
            _ => 1_000_000,
        };
    }
}
