//! One program for all targets: `FUZZ_TARGET` names which part of the engine the bytes go to.
#![no_main]

mod targets;

use std::sync::OnceLock;

fn target() -> targets::Target {
    static TARGET: OnceLock<targets::Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let known = targets::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, target)) = known else {
            eprintln!("FUZZ_TARGET is {name:?}. Give one of {:?}", targets::ALL.map(|(known, _)| known));
            std::process::exit(2);
        };
        *target
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target()(bytes));
