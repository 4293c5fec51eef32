//! Every input that fuzzing kept, through the same functions as `.ci/fuzz`: what was mended once stays mended.

#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;

fn bytes(line: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(line.get(at..at + 2).unwrap_or_default(), 16);
    (0..line.len()).step_by(2).map(|at| digit(at).expect("two hexadecimal digits a byte")).collect()
}

#[test]
fn kept_inputs_do_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in targets::ALL {
        let path = corpus.join(name).with_extension("hex");
        let kept = std::fs::read_to_string(&path).expect("`.ci/fuzz` writes a file for each target");
        assert!(!kept.is_empty(), "{name}");
        for line in kept.lines() {
            eprintln!("{name}: {line}"); // shown when it fails
            target(&bytes(line));
        }
    }
}
