//! Guard bundle and packets to verdicts: who sends a mark that is not theirs, and who changed a mark on the way.

mod bundle;
mod judge;
mod prefixes;
mod told;
mod verdict;

pub use bundle::{Bundle, BundleError, Identity, Profile};
pub use judge::{Judge, Offence, Place};
pub use told::Told;
pub use verdict::{Name, ServerPort, Verdict};
