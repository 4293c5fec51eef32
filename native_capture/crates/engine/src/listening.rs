//! Exporters heard live: their datagrams in, bodies of batches out. Sockets are the caller's.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use nc_detect::Bundle;
use serde_json::{json, Value};

use crate::listener::Listener;

/// Flows told apart, so that one is counted as one connection however often it is told.
const FLOWS: usize = 1 << 18;
/// Revisions kept until they are collected.
const MAX_VERDICTS: usize = 100_000;

/// No such point.
#[derive(Debug)]
pub struct HearError(pub String);

/// Safe to use from any thread.
pub struct Listening(Mutex<State>);

struct State {
    listener: Listener,
    bundle: Option<String>,
    given_up: u64,
}

impl Listening {
    pub fn new(points: &[String], bundle: Option<Bundle>) -> Self {
        let listening =
            Self(Mutex::new(State { listener: Listener::new(points, FLOWS, true), bundle: None, given_up: 0 }));
        if let Some(bundle) = bundle {
            listening.set_bundle(bundle);
        }
        listening
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One datagram; what cannot be read is counted, and told by `poll`.
    pub fn hear(&self, point: &str, exporter: IpAddr, ts_ns: u64, bytes: &[u8]) -> Result<(), HearError> {
        let mut state = self.state();
        let known = state.listener.posts.iter().position(|post| post.name == point);
        let number = known.ok_or_else(|| HearError(format!("point {point}: no such point")))?;
        if let Err(fault) = state.listener.hear(number, exporter, ts_ns, bytes, &mut |_| ()) {
            let what = format!("{exporter}: byte {} of a message: {}", fault.at, fault.what);
            state.listener.posts[number].trouble = Some(what);
        }
        let spare = state.listener.verdicts.len().saturating_sub(MAX_VERDICTS);
        state.listener.verdicts.drain(..spare);
        state.given_up += spare as u64;
        Ok(())
    }

    pub fn set_bundle(&self, bundle: Bundle) -> String {
        let version = bundle.version.clone();
        let mut state = self.state();
        state.bundle = Some(version.clone());
        state.listener.set_bundle(Arc::new(bundle));
        version
    }

    /// Verdicts that are due, newest revision of each, and what came from whom: JSON, UTF-8.
    pub fn poll(&self) -> Vec<u8> {
        let mut state = self.state();
        let mut verdicts = std::mem::take(&mut state.listener.verdicts);
        verdicts.reverse();
        let mut seen = std::collections::HashSet::new();
        verdicts.retain(|verdict| seen.insert(verdict.id.clone()));
        verdicts.reverse();
        let collectors: Vec<Value> = state.listener.posts.iter_mut().flat_map(|post| {
            let trouble = post.trouble.take();
            let name = post.name.clone();
            post.reader.exporters().map(move |(address, exporter)| {
                let tally = &exporter.tally;
                json!({
                    "point": name, "exporter": address.to_string(), "source": exporter.source.map(|source| source.as_str()),
                    "sampling": exporter.sampling, "messages": tally.messages, "records": tally.records, "lost": tally.lost,
                    "waiting": tally.waiting, "given_up": tally.given_up, "unreadable": tally.unreadable,
                    "trouble": trouble,
                })
            }).collect::<Vec<_>>()
        }).collect();
        json!({
            "judging": state.bundle.is_some(), "bundle": state.bundle, "verdicts": verdicts, "collectors": collectors,
            "given_up": state.given_up, "overflow": state.listener.overflow + state.listener.judge.overflow(),
        })
        .to_string()
        .into_bytes()
    }
}
