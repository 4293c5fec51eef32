use std::collections::BTreeSet;
use std::path::Path;

use nc_decode::{decode, Packet};

use super::built_in::FILES;
use super::{Found, Sample, Signature, SignatureError, Signatures};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/signatures");

/// Ethernet, IPv4, TCP with this payload; padded as on the wire.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00]);
    let length = (40 + payload.len() as u16).to_be_bytes();
    frame.extend([0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x9c, 0x40, 0x27, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn sight(set: &Signatures, payload: &[u8], kept: usize) -> Option<String> {
    let bytes = frame(payload);
    let packet = decode(1, 0, bytes.len() as u32, &bytes[..bytes.len().min(kept)]);
    Some(set.get(set.sight(&packet, &bytes[..bytes.len().min(kept)]))?.name.clone())
}

fn own(any: &str) -> Result<Signatures, SignatureError> {
    Signatures::new(vec![("own.json".into(), parse(any, "start")?)])
}

fn parse(any: &str, visibility: &str) -> Result<Signature, SignatureError> {
    let text = format!(
        r#"{{"name": "own", "title": "", "kind": "storage", "strength": "payload", "visibility": "{visibility}",
            "transport": "tcp", "direction": "client", "ports": [], "packets": 1, "source": "", "verified_on": "",
            "any": {any}}}"#
    );
    Signature::parse("own.json", &text)
}

#[test]
fn every_file_of_the_folder_is_built_in_and_named_as_its_signature() -> Result<(), Box<dyn std::error::Error>> {
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(FOLDER)? {
        there.insert(entry?.file_name().to_string_lossy().trim_end_matches(".json").to_owned());
    }
    assert_eq!(there, FILES.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, text) in FILES {
        assert_eq!(Signature::parse(name, text)?.name, *name);
    }
    Ok(())
}

#[test]
fn bytes_masks_numbers_sums_lengths_and_texts_must_all_hold() -> Result<(), SignatureError> {
    let set =
        own(r#"[[{"is": "text", "at": 0, "text": "ab"}, {"is": "bytes", "at": 2, "hex": "f0 00", "mask": "f0ff"},
             {"is": "number", "at": 4, "form": "u16be", "min": 5, "max": 6},
             {"is": "sum", "at": 6, "form": "u16le", "of": 8, "add": 3},
             {"is": "length", "at": 10, "form": "u8", "add": 1, "holds": "payload"},
             {"is": "find", "from": 11, "within": 15, "any": ["no", "yes"]}]]"#)?;
    let good = b"ab\xf7\x00\x00\x05\x04\x00\x01\x00\x0e.yes";
    assert_eq!(sight(&set, good, 99).as_deref(), Some("own"));
    for at in 0..good.len() {
        // The low half of byte 2 and the byte before the text are free.
        let mut bad = good.to_vec();
        bad[at] ^= if at == 2 { 0x80 } else { 0x10 };
        assert_eq!(sight(&set, &bad, 99).is_some(), at == 11, "byte {at}");
    }
    assert_eq!(sight(&set, &[good.as_slice(), b"more"].concat(), 99), None, "the length says otherwise");
    Ok(())
}

#[test]
fn a_cut_packet_shows_only_what_is_left_of_it_and_padding_is_no_payload() -> Result<(), SignatureError> {
    let set = own(r#"[[{"is": "text", "at": 0, "text": "abcd"}]]"#)?;
    assert!(sight(&set, b"abcd", 58).is_some());
    assert!(sight(&set, b"abcd", 57).is_none());
    assert_eq!((set.beyond(|_| 3), set.beyond(|_| 4)), (vec!["own"], vec![]));
    let zeros = own(r#"[[{"is": "bytes", "at": 0, "hex": "00000000"}]]"#)?;
    assert_eq!((sight(&zeros, b"", 99), sight(&zeros, b"\0\0", 99)), (None, None));
    assert!(sight(&zeros, b"\0\0\0\0", 99).is_some());
    Ok(())
}

#[test]
fn patterns_that_random_bytes_would_meet_are_refused() -> Result<(), SignatureError> {
    let weak = [
        (r#"[[{"is": "text", "at": 0, "text": "abc"}]]"#, "start"),
        (r#"[[{"is": "text", "at": 0, "text": "abcde"}]]"#, "mid-life"),
        (r#"[[{"is": "payload", "min": 0, "max": 9}]]"#, "start"),
        (r#"[[{"is": "bytes", "at": 0, "hex": "0000", "mask": "ffff"}]]"#, "start"),
        (
            r#"[[{"is": "text", "at": 0, "text": "ab"}, {"is": "number", "at": 2, "form": "u64le", "min": 0, "max": 18446744073709551615}]]"#,
            "start",
        ),
        (r#"[[{"is": "bytes", "at": 0, "hex": "0x00"}]]"#, "start"),
        (
            r#"[[{"is": "text", "at": 0, "text": "abcd"}, {"is": "number", "at": 4, "form": "u8", "min": 2, "max": 1}]]"#,
            "start",
        ),
        (
            r#"[[{"is": "text", "at": 0, "text": "abcd"}, {"is": "text", "at": 18446744073709551615, "text": "e"}]]"#,
            "start",
        ),
    ];
    for (any, visibility) in weak {
        let signature = parse(any, visibility)?;
        let error = Signatures::new(vec![("own.json".into(), signature)]).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.starts_with("own.json: ") && error.lines().count() == 1), "{any}");
    }
    assert!(parse("[]", "start").is_err());
    assert!(parse(r#"[[{"is": "sound", "at": 0}]]"#, "start").is_err());
    Ok(())
}

#[test]
fn a_start_counts_in_the_first_packets_of_the_right_direction() -> Result<(), SignatureError> {
    let set = own(r#"[[{"is": "text", "at": 0, "text": "abcd"}]]"#)?;
    let counts = |place, to_server| set.accept(1, Sample { place, to_server }).is_some();
    assert!(counts(1, true) && counts(8, true));
    assert!(!counts(9, true) && !counts(1, false));
    Ok(())
}

#[test]
fn nothing_is_seen_in_random_bytes() -> Result<(), SignatureError> {
    let set = Signatures::load(None)?;
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let payload: Vec<u8> = (0..300)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        assert_eq!(sight(&set, &payload, 400), None);
    }
    Ok(())
}

#[test]
fn no_frame_makes_it_read_beyond_its_end() -> Result<(), SignatureError> {
    let set = Signatures::load(None)?;
    for payload_at in [0, 1, 59, 60, u16::MAX] {
        for payload_len in [0, 1, u32::MAX] {
            let packet = Packet { proto: 6, payload_at, payload_len, ..Packet::default() };
            set.sight(&packet, &[0; 60]);
        }
    }
    Ok(())
}

#[test]
fn a_folder_adds_and_replaces() -> Result<(), SignatureError> {
    let all = Signatures::load(None)?.iter().count();
    assert_eq!(Signatures::load(Some(Path::new(FOLDER)))?.iter().count(), all);
    let error = Signatures::load(Some(Path::new("/nowhere"))).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.starts_with("/nowhere: ")));
    Ok(())
}

#[test]
fn a_tally_keeps_six_signatures_and_counts_what_it_turns_away() {
    let mut found = Found::default();
    let mut handle = 0;
    found.add(&mut handle, 7);
    for number in 7..14 {
        found.add(&mut handle, number);
    }
    assert_eq!(found.get(handle).into_iter().collect::<Vec<_>>(), [(7, 2), (8, 1), (9, 1), (10, 1), (11, 1), (12, 1)]);
    assert_eq!(found.overflow(), 1);
    found.release(handle);
    assert_eq!(found.get(handle).into_iter().count(), 0);
    let mut again = 0;
    found.add(&mut again, 3);
    assert_eq!(again, handle);
}
