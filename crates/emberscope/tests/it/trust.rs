//! Whole or not: the trust line, `--strict` and what they say.

use crate::base;
use crate::command::{Dir, show};

fn strict(log: &[u8]) -> (Option<i32>, String, String) {
    let dir = Dir::new(&[("app-1", log)]);
    let output = dir.run(&["summary", "--strict", "app-1"]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    // One line, however it was wrapped.
    let stdout = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code(), stdout, text(&output.stderr))
}

fn without(line: usize) -> String {
    let mut lines = base::lines();
    lines.remove(line);
    lines.join("\n") + "\n"
}

#[test]
fn strict_and_the_trust_line_agree() {
    let cases = [
        (base::log(), None),
        (without(9), Some("the log has no end of the application: it may still be running")),
        (without(6), Some("task ends are missing: stage 0 has 0 of 1")),
        (base::cut_log(), Some("the log is cut at line 10: the application may still be running")),
        (base::broken_log(), Some("1 line could not be read; the first is line 8")),
    ];
    for (log, gap) in cases {
        let (code, stdout, stderr) = strict(log.as_bytes());
        assert_eq!(code, Some(if gap.is_some() { 4 } else { 0 }), "{stdout}");
        match gap {
            None => {
                assert!(stdout.contains("Trust complete") && stderr.is_empty(), "{stdout}{stderr}");
            }
            Some(gap) => {
                assert!(stdout.contains("Trust not whole") && stdout.contains(gap), "{stdout}");
                assert!(stderr.starts_with(&format!("error: not whole: app-1: {gap}")), "{stderr}");
            }
        }
    }
}

#[test]
fn strict_names_what_failed() {
    let dir = Dir::new(&[("logs/app-1", base::log().as_bytes()), ("logs/bad.zip", b"PK\x03\x04nonsense")]);
    let output = dir.run(&["summary", "--strict", "--quiet", "logs"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(show(&output).contains("error: not whole: logs/bad.zip: the zip archive"), "{}", show(&output));
}

#[test]
fn damage_is_not_told_as_a_running_application() {
    let whole = zstd::encode_all(base::log().repeat(50).as_bytes(), 1).unwrap();
    let frames =
        [zstd::encode_all(base::lines()[..8].join("\n").as_bytes(), 1).unwrap(), b"garbage!".to_vec()];
    let (_, stdout, _) = strict(&frames.concat());
    assert!(stdout.contains("app-1: no zstd frame at offset"), "{stdout}");
    assert!(stdout.contains("everything before the damage was read"), "{stdout}");
    assert!(stdout.contains("the end of the application is not in what could be read"), "{stdout}");
    assert!(!stdout.contains("still be running"), "{stdout}");
    // A tail that is cut behind the end of the application is a copy that broke off.
    let tail = [zstd::encode_all(base::log().as_bytes(), 1).unwrap(), whole[..20].to_vec()].concat();
    let (code, stdout, _) = strict(&tail);
    assert_eq!(code, Some(4));
    assert!(stdout.contains("the copy may have broken off"), "{stdout}");
    assert!(!stdout.contains("still be running"), "{stdout}");
}

#[test]
fn estimates_are_told_in_words() {
    let (_, stdout, _) = strict(without(9).as_bytes());
    assert!(stdout.contains("no such event: end of the application"), "{stdout}");
}
