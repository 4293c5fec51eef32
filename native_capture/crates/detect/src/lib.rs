//! Guard bundle and packets to verdicts: who sends a mark that is not theirs, and who changed a mark on the way.

mod bundle;
mod carrier;
mod extra;
mod figure;
mod judge;
mod open;
mod path_mtu;
mod prefixes;
mod roce;
pub mod thresholds;
mod told;
mod verdict;
mod window;

pub use bundle::{Bundle, BundleError, Identity, Profile, PRIORITY};
pub use carrier::Carrier;
pub use figure::Figure;
pub use judge::{Joins, Judge, Note, Offence, Place, ROCE_V1};
pub use path_mtu::Stuck;
pub use roce::{roce_key, RoceJudge};
pub use told::Told;
pub use verdict::{Name, ServerPort, Severity, Verdict};
pub use window::Window;
