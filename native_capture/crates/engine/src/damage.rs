//! What a damaged capture does to what is said of it: its verdicts carry that a part is missing, or that what was read may be wrong.

use nc_detect::Verdict;
use nc_source::{Code, SourceError};
use serde_json::{json, Value};

/// Taken off the confidence of what was read from packed data that fails its checksum.
const DOUBT: f64 = 0.2;

/// `ended`: what follows a byte is missing; `doubtful`: what came before it may be wrong, too; None for a whole capture.
pub(crate) fn damage(error: Option<&SourceError>) -> Option<&'static str> {
    match error?.code {
        Code::Damaged => Some("doubtful"),
        _ => Some("ended"),
    }
}

/// Add the fact to the verdicts that rest on damaged captures, given by the names of their points.
pub(crate) fn tell<'a>(verdicts: &mut [Verdict], captures: impl Iterator<Item = (&'a str, Option<&'a SourceError>)>) {
    for (point, error) in captures {
        let (Some(error), Some(damage)) = (error, damage(error)) else { continue };
        let fact = json!({"kind": "damaged", "point": point, "damage": damage, "error": error.to_string()});
        for verdict in verdicts.iter_mut().filter(|verdict| rests_on(verdict, point)) {
            if error.code == Code::Damaged {
                let percent = (100.0 * (verdict.confidence - DOUBT)).round().max(0.0);
                verdict.confidence = percent / 100.0;
            }
            verdict.evidence.push(fact.clone());
        }
    }
}

fn rests_on(verdict: &Verdict, point: &str) -> bool {
    let is_named = |fact: &Value| {
        let others = fact["not_seen_at"].as_array().into_iter().flatten();
        fact["point"] == point || others.into_iter().any(|other| other == point)
    };
    verdict.point == point || verdict.evidence.iter().any(is_named)
}
