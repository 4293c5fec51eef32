//! What verdicts of the network and of queues hold besides packets.

use serde_json::{json, Map, Value};

use crate::figure::{Figure, FIGURES};
use crate::judge::Note;
use crate::verdict::Severity;

/// Different facts kept, by what they speak about; the newest of each.
const MAX_FACTS: usize = 32;
/// Queue pairs named.
const MAX_QPS: usize = 16;
/// Fields of a fact that say what it speaks about.
const ABOUT: [&str; 7] = ["kind", "port", "class", "priority", "point", "src", "dst"];

#[derive(Debug)]
pub(crate) struct Extra {
    pub severity: Severity,
    pub signals: Vec<&'static str>,
    pub dest_qps: Vec<u32>,
    figures: [Option<u64>; FIGURES],
    facts: Vec<Value>,
}

impl Default for Extra {
    fn default() -> Self {
        Self {
            severity: Severity::Info,
            signals: Vec::new(),
            dest_qps: Vec::new(),
            figures: [None; FIGURES],
            facts: Vec::new(),
        }
    }
}

impl Extra {
    pub fn join(&mut self, note: Note<'_>) {
        self.severity = self.severity.max(note.severity);
        for signal in note.signals {
            if !self.signals.contains(signal) {
                self.signals.push(signal);
            }
        }
        for (figure, value) in note.figures.iter().filter(|(_, value)| *value > 0) {
            figure.merge(self.figures[*figure as usize].get_or_insert(0), *value);
        }
        if let Some(qp) = note.dest_qp.filter(|qp| self.dest_qps.len() < MAX_QPS && !self.dest_qps.contains(qp)) {
            self.dest_qps.push(qp);
        }
        for fact in note.facts {
            self.keep(fact);
        }
    }

    fn keep(&mut self, fact: Value) {
        let same = |known: &Value| ABOUT.iter().all(|field| known.get(field) == fact.get(field));
        if let Some(at) = self.facts.iter().position(same) {
            self.facts[at] = fact;
        } else if self.facts.len() < MAX_FACTS {
            self.facts.push(fact);
        }
    }

    pub fn evidence(&self) -> Vec<Value> {
        let mut counted = Map::new();
        counted.insert("kind".into(), "counted".into());
        for (figure, name) in Figure::ALL {
            if let Some(value) = self.figures[figure as usize] {
                counted.insert(name.into(), value.into());
            }
        }
        if !self.dest_qps.is_empty() {
            counted.insert("dest_qps".into(), json!(self.dest_qps));
        }
        std::iter::once(Value::Object(counted)).chain(self.facts.iter().cloned()).collect()
    }
}
