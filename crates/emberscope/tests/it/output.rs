//! `--out` and standard output: what is written, what is left alone.

use crate::base;
use crate::command::{Dir, show};
use std::process::Stdio;

fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn hidden(dir: &Dir) -> Vec<String> {
    std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect()
}

#[test]
fn without_a_run_the_target_stays() {
    let dir = Dir::new(&[("out", b"precious")]);
    for command in ["summary", "doctor"] {
        assert_eq!(dir.run(&[command, "missing", "--out", "out"]).status.code(), Some(3));
        assert_eq!(std::fs::read(dir.path().join("out")).unwrap(), b"precious");
    }
    assert!(hidden(&dir).is_empty());
}

#[test]
fn a_source_is_never_written_over() {
    let log = base::log();
    let dir = Dir::new(&[("logs/app-1", log.as_bytes()), ("logs/old.json", b"{}\n")]);
    for args in [
        ["summary", "--out", "logs/app-1", "logs/app-1"],
        ["doctor", "--out", "./logs/../logs/app-1", "logs/app-1"],
        ["summary", "--out", "logs/app-1", "logs"],
    ] {
        let output = dir.run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output).contains("is one of the sources"), "{}", show(&output));
        assert_eq!(std::fs::read(dir.path().join("logs/app-1")).unwrap(), log.as_bytes());
    }
    // What lies beside the logs and is none may be replaced, and the file being written is not told of.
    let output = dir.run(&["summary", "--json", "--out", "logs/old.json", "logs"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!text(&output).contains("inprogress"), "{}", show(&output));
    assert!(std::fs::read(dir.path().join("logs/old.json")).unwrap().len() > 100);
}

#[test]
fn targets_that_cannot_be_written() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes()), ("locked", b"")]);
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let mut permissions = std::fs::metadata(dir.path().join("locked")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(dir.path().join("locked"), permissions).unwrap();
    for (target, why) in
        [("sub", "it is a directory"), ("no/out", "make its directory first"), ("locked", "write-protected")]
    {
        let output = dir.run(&["summary", "app-1", "--out", target]);
        assert_eq!(output.status.code(), Some(2), "{target}");
        assert!(text(&output).contains(why) && text(&output).contains("hint:"), "{}", show(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["summary", "app-1", "--out", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).starts_with("error: /dev/full: cannot be written: "), "{}", show(&output));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = dir.command(&["summary", "app-1"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).starts_with("error: standard output: cannot be written: "), "{}", show(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_dead_process_left_is_removed() {
    let log = base::log();
    let own = format!(".out.{}.inprogress", std::process::id());
    // No process has the largest number.
    let dead = format!(".out.{}.inprogress", u32::MAX);
    let other = format!(".other.{}.inprogress", u32::MAX);
    let dir = Dir::new(&[("app-1", log.as_bytes()), (&own, b""), (&dead, b""), (&other, b"")]);
    assert_eq!(dir.run(&["summary", "app-1", "--out", "out"]).status.code(), Some(0));
    let mut left = hidden(&dir);
    left.sort();
    let mut expected = [own, other];
    expected.sort();
    assert_eq!(left, expected);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    let dir = Dir::new(&[]);
    let mut child = dir.command(&["summary", "-", "--out", "out"]).stdin(Stdio::piped()).spawn().unwrap();
    // Held open: waiting for the child closes what it still owns, and an end of input ends it, too.
    let stdin = child.stdin.take();
    // It waits for its input once the file is there.
    for _ in 0..500 {
        if !hidden(&dir).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(hidden(&dir).len(), 1);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    assert!(hidden(&dir).is_empty());
    assert!(!dir.path().join("out").exists());
}
