//! Logs that grow: what is written meanwhile, and that in the end it is what a finished log gives.

use crate::base;
use crate::command::{Dir, show};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(name)
}

/// The only file or directory of a fixture.
fn log_of(name: &str) -> PathBuf {
    std::fs::read_dir(fixture(name)).unwrap().next().unwrap().unwrap().path()
}

/// Every file below a directory with its content.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            // Files get their names, and old ones go, while this looks.
            if path.is_dir() {
                dirs.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                found.insert(path.strip_prefix(dir).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

fn is_live(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().contains("-reports-live-")
}

/// Rows that were written while the run went on.
fn live_rows(dir: &Path) -> usize {
    let live = files(dir).into_iter().filter(|(path, _)| is_live(path));
    live.map(|(_, bytes)| bytes.iter().filter(|byte| **byte == b'\n').count()).sum()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(dir: &Dir, args: &[&str]) -> Child {
    let mut command = dir.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn feed(child: &mut Child, bytes: &[u8]) {
    let input = child.stdin.as_mut().unwrap();
    input.write_all(bytes).unwrap();
    input.flush().unwrap();
}

fn end(mut child: Child) -> Output {
    drop(child.stdin.take());
    child.wait_with_output().unwrap()
}

const LIVE: &[&str] = &["follow", "-", "--tasks", "--out", "live", "--flush-every", "1ms", "--quiet"];

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_pipe_ends_as_the_finished_log() {
    for name in ["sql-aqe-3.5.9", "failures-3.5.9", "killed-zstd-3.5.9", "streaming-3.5.9"] {
        let bytes = std::fs::read(log_of(name)).unwrap();
        let dir = Dir::new(&[("log", &bytes)]);
        let mut offline = dir.command(&["report", "-", "--tasks", "--out", "offline"]);
        offline.stdin(std::fs::File::open(dir.path().join("log")).unwrap());
        assert!(offline.output().unwrap().status.success());
        let mut child = start(&dir, LIVE);
        for piece in bytes.chunks(bytes.len() / 20 + 1) {
            feed(&mut child, piece);
            std::thread::sleep(Duration::from_millis(15));
        }
        let live = dir.path().join("live");
        until("rows before the end", || live_rows(&live) > 5);
        let output = end(child);
        assert!(output.status.success(), "{}", show(&output));
        assert_eq!(files(&live), files(&dir.path().join("offline")), "{name}");
    }
}

#[test]
fn a_file_is_followed_until_it_gets_its_name() {
    let source = log_of("sql-aqe-3.4.4");
    let name = source.file_name().unwrap().to_str().unwrap().to_owned();
    let bytes = std::fs::read(&source).unwrap();
    let growing = format!("{name}.inprogress");
    let dir = Dir::new(&[(&growing, b"")]);
    let args = ["follow", &name, "--tasks", "--out", "live", "--flush-every", "1ms", "--no-findings"];
    let child = start(&dir, &args);
    let mut file = std::fs::File::options().append(true).open(dir.path().join(&growing)).unwrap();
    for piece in bytes.chunks(bytes.len() / 10 + 1) {
        file.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::rename(dir.path().join(&growing), dir.path().join(&name)).unwrap();
    let output = end(child);
    assert!(output.status.success(), "{}", show(&output));
    assert!(dir.run(&["report", &name, "--tasks", "--out", "offline"]).status.success());
    assert_eq!(files(&dir.path().join("live")), files(&dir.path().join("offline")));
}

#[test]
fn a_rolled_log_is_followed_from_file_to_file() {
    let source = log_of("rolled-4.3.0");
    let mut members: Vec<PathBuf> =
        std::fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()).collect();
    members.sort_by_key(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.split('_').nth(1).and_then(|index| index.parse::<u32>().ok())
    });
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let status = members.iter().find(|path| name(path).starts_with("appstatus")).unwrap();
    let events: Vec<&PathBuf> = members.iter().filter(|path| name(path).starts_with("events_")).collect();
    assert!(events.len() > 2);
    let log = source.file_name().unwrap().to_str().unwrap();
    let first = std::fs::read(events[0]).unwrap();
    let running = format!("{log}/{}.inprogress", name(status));
    let dir = Dir::new(&[(&running, b""), (&format!("{log}/{}", name(events[0])), &first)]);
    let args = ["follow", log, "--tasks", "--out", "live", "--flush-every", "1ms", "--no-findings"];
    let child = start(&dir, &args);
    for member in &events[1..] {
        std::thread::sleep(Duration::from_millis(100));
        std::fs::write(dir.path().join(log).join(name(member)), std::fs::read(member).unwrap()).unwrap();
    }
    std::fs::rename(dir.path().join(&running), dir.path().join(log).join(name(status))).unwrap();
    let output = end(child);
    assert!(output.status.success(), "{}", show(&output));
    assert!(dir.run(&["report", log, "--tasks", "--out", "offline"]).status.success());
    assert_eq!(files(&dir.path().join("live")), files(&dir.path().join("offline")));
}

#[test]
fn signals_end_it_or_do_not() {
    let log = base::log();
    let (begin, rest) = log.split_at(log.find(r#"{"Event":"SparkListenerApplicationEnd"#).unwrap());
    for ignored in [true, false] {
        let dir = Dir::new(&[]);
        let ignore: &[&str] = if ignored { &["--ignore-signals"] } else { &[] };
        let args = [LIVE, ignore, &["--reports", "job,application"]].concat();
        let mut child = start(&dir, &args);
        feed(&mut child, begin.as_bytes());
        // No environment is in this log, so that its place is known only at its end.
        std::thread::sleep(Duration::from_millis(500));
        for name in ["TERM", "HUP", "INT"].iter().take(if ignored { 3 } else { 1 }) {
            signal(&child, name);
        }
        std::thread::sleep(Duration::from_millis(300));
        if ignored {
            feed(&mut child, rest.as_bytes());
        }
        let output = end(child);
        assert!(output.status.success(), "{}", show(&output));
        let place = dir.path().join("live/applicationId=app-1/attempt=0");
        let application = std::fs::read_to_string(place.join("application-reports-0.json")).unwrap();
        let status = if ignored { r#""status":"succeeded""# } else { r#""status":"incomplete""# };
        assert!(application.contains(status), "{application}");
    }
}

#[test]
fn what_a_killed_follower_wrote_can_be_taken_over() {
    let bytes = std::fs::read(log_of("sql-aqe-3.5.9")).unwrap();
    let dir = Dir::new(&[("log", &bytes)]);
    let mut child = start(&dir, LIVE);
    feed(&mut child, &bytes[..bytes.len() * 9 / 10]);
    let live = dir.path().join("live");
    until("rows before the end", || live_rows(&live) > 5);
    let written = live_rows(&live);
    signal(&child, "KILL");
    child.wait().unwrap();
    let output = dir.run(&["report", "--recover", "live"]);
    assert!(output.status.success(), "{}", show(&output));
    let recovered = files(&live);
    let names: Vec<&PathBuf> = recovered
        .keys()
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    let rows: usize =
        names.iter().map(|name| recovered[*name].split(|byte| *byte == b'\n').count() - 1).sum();
    assert!(rows >= written, "{rows} of {written}");
    // The next report of the run replaces them.
    for place in ["live", "offline"] {
        assert!(dir.run(&["report", "log", "--tasks", "--out", place]).status.success());
    }
    assert_eq!(files(&live), files(&dir.path().join("offline")));
}

#[test]
fn lines_on_standard_output_end_as_the_rows_of_the_report() {
    let bytes = std::fs::read(log_of("sql-aqe-3.5.9")).unwrap();
    let dir = Dir::new(&[("log", &bytes)]);
    let tables = ["--sink", "log", "--reports", "job,sql,stage,task"];
    let mut child =
        start(&dir, &[&["follow", "-", "--flush-every", "1ms", "--no-findings"], &tables[..]].concat());
    for piece in bytes.chunks(bytes.len() / 20 + 1) {
        feed(&mut child, piece);
        std::thread::sleep(Duration::from_millis(15));
    }
    let output = end(child);
    assert!(output.status.success(), "{}", show(&output));
    let offline = dir.run(&[&["report", "log"], &tables[..]].concat());
    let lines = |output: &Output| -> Vec<String> {
        String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
    };
    let (live, offline) = (lines(&output), lines(&offline));
    let distinct: BTreeSet<&String> = live.iter().collect();
    assert_eq!(distinct.len(), live.len(), "no row twice as it was");
    assert!(offline.iter().all(|line| distinct.contains(line)));
}

#[test]
fn findings_are_told_once() {
    let bytes = std::fs::read(log_of("failures-3.5.9")).unwrap();
    let dir = Dir::new(&[]);
    let mut child = start(&dir, &["follow", "-"]);
    feed(&mut child, &bytes);
    let output = end(child);
    assert!(output.status.success(), "{}", show(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("critical") && text.contains("FAIL"), "{text}");
}

#[test]
fn what_a_stream_had_no_room_for_is_told() {
    let dropped = r#"{"Event":"io.emberscope.DroppedEvents","Dropped":{"SparkListenerTaskEnd":12}}"#;
    let dir = Dir::new(&[("log", format!("{}{dropped}\n{dropped}\n", base::log()).as_bytes())]);
    let output = dir.run(&["summary", "log", "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = "24 SparkListenerTaskEnd, dropped for want of room";
    assert_eq!(summary["trust"]["missing_members"], serde_json::json!([told]));
    assert_eq!(dir.run(&["summary", "log", "--strict"]).status.code(), Some(4));
}

#[test]
fn memory_has_a_limit() {
    let dir = Dir::new(&[]);
    let mut child = start(&dir, &[LIVE, &["--memory", "1MiB", "--reports", "application"]].concat());
    feed(&mut child, base::cut_log().as_bytes());
    // Its input stays open: it ends by itself.
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    let text = show(&output);
    assert!(output.status.success() && text.contains("more memory than --memory allows"), "{text}");
    assert!(dir.path().join("live/applicationId=app-1/attempt=0/application-reports-0.json").exists());
}

#[test]
fn mistakes() {
    let dir = Dir::new(&[("empty", b""), ("dir/file", b"x")]);
    let cases: &[(&[&str], i32, &str)] = &[
        (&["none"], 3, "no such file"),
        (&["dir"], 3, "no event log in it"),
        (&["empty", "--idle-end", "1ms"], 3, "no events yet"),
        (&["-"], 3, "no events yet"),
        (&["-", "--out", "s3a://b/x"], 2, "s3a is not written to yet"),
    ];
    for (args, code, text) in cases {
        let told = dir.show(&[&["follow"], *args].concat());
        assert!(told.starts_with(&format!("exit code: {code}\n")) && told.contains(text), "{args:?}: {told}");
    }
}
