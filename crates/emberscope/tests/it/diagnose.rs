//! `emberscope diagnose` and `emberscope docs`.

use crate::base;
use crate::command::{Dir, show};
use crate::schema;
use emberscope_analysis::schema::json_schema;
use serde_json::Value;
use std::path::Path;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn error(dir: &Dir, args: &[&str]) -> String {
    let output = dir.run(args);
    assert_eq!(output.status.code(), Some(2), "{}", show(&output));
    text(&output.stderr)
}

/// The schema as committed, against the types; `EMBERSCOPE_UPDATE=1` writes it anew.
#[test]
fn the_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/diagnosis.schema.json");
    let wanted = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == wanted, "docs/schema/diagnosis.schema.json is stale: run with EMBERSCOPE_UPDATE=1");
}

#[test]
fn every_output_is_as_the_schema_says() {
    let schema = json_schema();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs");
    let dir = Dir::new(&[
        ("base", base::log().as_bytes()),
        ("cut.inprogress", base::cut_log().as_bytes()),
        ("broken", base::broken_log().as_bytes()),
        ("retried", base::retried_log().as_bytes()),
    ]);
    let output = dir.run(&["diagnose", "--format", "json", ".", fixtures.to_str().unwrap(), "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert!(lines.len() > 20, "{}", lines.len());
    for line in lines {
        let value: Value = serde_json::from_str(&line).unwrap();
        let errors = schema::errors(&schema, &value);
        assert!(errors.is_empty(), "{}: {errors:?}", value["source"]);
        promised(&value);
    }
}

/// Recordings of a real application name the frames of flagged stages in every form. They are kept beside the
/// repository.
#[test]
fn recordings_name_the_hottest_frames() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/jfr/ap");
    if !place.is_dir() {
        eprintln!("not checked: there are no recordings at {}", place.display());
        return;
    }
    let dir = Dir::new(&[]);
    let log = place.join("eventlog-app.json").display().to_string();
    let shown = |args: &[&str]| {
        let output = dir.run(&[&["diagnose", &log, "--jfr", place.to_str().unwrap()], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", show(&output));
        assert!(text(&output.stderr).is_empty(), "{}", show(&output));
        text(&output.stdout)
    };
    let diagnosis: Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    assert_eq!(schema::errors(&json_schema(), &diagnosis), Vec::<String>::new());
    let findings = diagnosis["findings"].as_array().unwrap();
    let profile =
        findings.iter().map(|finding| &finding["profile"]).find(|profile| profile.is_object()).unwrap();
    assert!(profile["samples"].as_i64().unwrap() > 0 && profile["event"] == "wall", "{profile}");
    let frame = profile["frames"][0]["frame"].as_str().unwrap();
    for form in ["markdown", "html"] {
        let told = shown(&["--format", form]);
        assert!(told.contains("hottest frames of"), "{form}");
        assert!(told.replace('\\', "").contains(frame), "{form}: {frame}");
    }
    assert!(shown(&["--all"]).contains("hottest frames of"));
}

#[test]
fn recordings_that_are_not_there_are_told_and_fail_nothing() {
    let dir = Dir::new(&[("log", base::log().as_bytes()), ("profiles/other/profile-exec-1.jfr", b"FLR")]);
    let output = dir.run(&["diagnose", "log", "--jfr", "profiles"]);
    assert_eq!(output.status.code(), Some(0), "{}", show(&output));
    assert!(text(&output.stderr).contains("--jfr: there is no recording of "), "{}", show(&output));
    let quiet = dir.run(&["diagnose", "log", "--jfr", "profiles", "--quiet"]);
    assert_eq!((text(&quiet.stderr), text(&quiet.stdout)), (String::new(), text(&output.stdout)));
    assert!(error(&dir, &["diagnose", "log", "--jfr", "nowhere"]).contains("--jfr nowhere"));
    assert!(error(&dir, &["diagnose", "log", "--jfr", "log"]).contains("no directory"));
}

/// The keys that other programs were promised.
fn promised(diagnosis: &Value) {
    let has = |value: &Value, keys: &[&str]| {
        for key in keys {
            assert!(value.get(key).is_some(), "{key} is missing in {value}");
        }
    };
    has(
        diagnosis,
        &[
            "schema_version",
            "application",
            "verdict",
            "findings",
            "clean_checks",
            "not_checked",
            "attribution",
            "trust",
        ],
    );
    has(&diagnosis["verdict"], &["headline", "actions", "fix_all"]);
    has(&diagnosis["verdict"]["fix_all"], &["wall_ms"]);
    has(&diagnosis["attribution"], &["wall", "core", "model_error"]);
    has(&diagnosis["attribution"]["model_error"], &["pinned_ms", "free_ratio"]);
    for sum in ["wall", "core"] {
        let sum = &diagnosis["attribution"][sum];
        let parts: i64 =
            sum["parts"].as_array().unwrap().iter().map(|part| part["ms"].as_i64().unwrap()).sum();
        assert_eq!(sum["total_ms"].as_i64(), Some(parts));
    }
    for finding in diagnosis["findings"].as_array().unwrap() {
        has(
            finding,
            &[
                "id",
                "type",
                "tag",
                "severity",
                "scope",
                "title",
                "evidence",
                "recommendation",
                "savings",
                "confidence",
                "validate",
                "doc",
            ],
        );
        has(&finding["scope"], &["stage_id", "stage_attempt", "sql_id", "node_id", "executor_id", "job_id"]);
        has(&finding["recommendation"], &["text", "changes"]);
        has(&finding["savings"], &["wall_ms", "core_ms", "method"]);
    }
}

#[test]
fn text_tells_where_the_time_went_and_what_to_trust() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["diagnose", "app-1"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", show(&output));
    for part in ["base  app-1", "succeeded", "Wall time  3.0 s", "Core-time  6.0 s", "Trust   complete"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn forms_follow_the_names_of_files() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let written = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    for (name, start) in [
        ("a.html", "<!doctype html>"),
        ("a.md", "# base\n"),
        ("a.json", "{\"schema_version\":1,"),
        ("a.txt", "base  app-1"),
    ] {
        let silent = "exit code: 0\n----- stdout -----\n----- stderr -----\n";
        assert_eq!(dir.show(&["diagnose", "app-1", "--out", name]), silent);
        assert!(written(name).starts_with(start), "{name}: {}", written(name));
    }
    let both = dir.run(&["diagnose", "app-1", "--format", "md", "--out", "r", "--json", "r.json"]);
    assert_eq!(show(&both), "exit code: 0\n----- stdout -----\n----- stderr -----\n");
    assert!(written("r").starts_with("# base\n"));
    assert_eq!(written("r.json"), written("a.json"));
    let alone = dir.run(&["diagnose", "app-1", "--json", "alone.json"]);
    assert_eq!(show(&alone), "exit code: 0\n----- stdout -----\n----- stderr -----\n");
    assert_eq!(written("alone.json"), written("a.json"));
    let again = dir.run(&["diagnose", "app-1", "--json", "alone.json"]);
    assert_eq!(again.status.code(), Some(0), "a diagnosis may be written anew");
    let bare = dir.run(&["diagnose", "app-1", "--json"]);
    assert_eq!(text(&bare.stdout), written("a.json"));
}

#[test]
fn a_log_is_never_written_over() {
    let log = base::log();
    let dir = Dir::new(&[("app-1", log.as_bytes()), ("app-2", log.as_bytes())]);
    assert!(error(&dir, &["diagnose", "--json", "app-1"]).contains("there is no log to read"));
    assert!(error(&dir, &["diagnose", "--json", "app-1", "app-2"]).contains("is no diagnosis"));
    assert!(error(&dir, &["diagnose", "app-1", "--out", "app-1"]).contains("one of the sources"));
    let same = error(&dir, &["diagnose", "app-1", "--out", "x.md", "--json", "x.md"]);
    assert!(same.contains("name the same file"), "{same}");
    for name in ["app-1", "app-2"] {
        assert_eq!(std::fs::read_to_string(dir.path().join(name)).unwrap(), log);
    }
}

#[test]
fn mistakes_of_the_command_line_name_what_is_known() {
    let dir = Dir::new(&[
        ("app-1", base::log().as_bytes()),
        ("tag.toml", b"[NOSUCH]\nratio = 1\n"),
        ("name.toml", b"[RUN]\nnosuch = 1\n"),
        ("value.toml", b"[RUN]\nfloor_share = \"x\"\n"),
        ("syntax.toml", b"ratio ="),
        ("share.toml", b"[fail]\nwarning_share = 5\n"),
        ("good.toml", b"[RUN]\nfloor_share = 0.01\n"),
    ]);
    let cases: &[(&[&str], &[&str])] = &[
        (&["--only", "NOSUCH"], &["no check has the tag `NOSUCH`", "known are"]),
        (&["--thresholds", "missing.toml"], &["--thresholds missing.toml:", "name a file in TOML"]),
        (&["--thresholds", "tag.toml"], &["--thresholds tag.toml:", "`NOSUCH`", "known are RUN"]),
        (&["--thresholds", "name.toml"], &["--thresholds name.toml:", "`nosuch`", "it has floor_share"]),
        (&["--thresholds", "value.toml"], &["--thresholds value.toml:", "RUN.floor_share"]),
        (&["--thresholds", "syntax.toml"], &["--thresholds syntax.toml:", "[SKEW]"]),
        // Where the parser points stands below what it points at.
        (&["--thresholds", "syntax.toml"], &["1 | ratio =\n"]),
        (&["--thresholds", "share.toml"], &["FAIL.warning_share", "from 0 to 1"]),
        (&["--stage", "7"], &["no run that was read has stage 7"]),
        (&["--stage", "0.1"], &["no run that was read has stage 0.1"]),
        (&["--exec-id", "5"], &["no run that was read has SQL execution 5"]),
        (&["--stage", "x"], &["a stage is a number"]),
        (&["--json", "--format", "text"], &["contradict each other"]),
        (&["--format", "yaml"], &["text, markdown, json, html"]),
    ];
    for (args, parts) in cases {
        let shown = error(&dir, &[&["diagnose", "app-1"], *args].concat());
        for part in *parts {
            assert!(shown.contains(part), "{args:?}: {part}: {shown}");
        }
    }
    // What was not found is not followed by a result about something else.
    let output = dir.run(&["diagnose", "app-1", "--stage", "7"]);
    assert_eq!(text(&output.stdout), "");
    let shown = dir.show(&["diagnose", "app-1", "--thresholds", "good.toml", "--stage", "0.0"]);
    assert!(shown.starts_with("exit code: 0") && shown.contains("RUN.floor_share"), "{shown}");
}

#[test]
fn several_runs() {
    let log = base::log();
    let dir =
        Dir::new(&[("logs/app-1", log.as_bytes()), ("logs/app-2", log.replace("app-1", "app-2").as_bytes())]);
    let json = text(&dir.run(&["diagnose", "logs", "--json"]).stdout);
    assert_eq!(json.lines().count(), 2);
    let shown = text(&dir.run(&["diagnose", "logs"]).stdout);
    assert!(shown.contains("base  app-1") && shown.contains("\n\nbase  app-2"), "{shown}");
    let refused = error(&dir, &["diagnose", "logs", "--out", "two.html"]);
    assert!(refused.contains("HTML holds one run"), "{refused}");
    assert!(!dir.path().join("two.html").exists());
}

#[test]
fn exit_codes_for_scripts() {
    let dir =
        Dir::new(&[("whole", base::log().as_bytes()), ("cut", base::cut_log().as_bytes()), ("empty", b"")]);
    let code = |args: &[&str]| dir.run(&[&["diagnose", "-q"], args].concat()).status.code();
    assert_eq!(code(&["whole"]), Some(0));
    assert_eq!(code(&["cut"]), Some(0));
    assert_eq!(code(&["whole", "--only-nothing"]), Some(2));
    assert_eq!(code(&["empty", "--fail-on", "warning"]), Some(3));
    assert_eq!(code(&["cut", "--fail-on", "critical", "--strict"]), Some(4));
    // Whatever else is found in it, a run that is not whole says so.
    assert!(matches!(code(&["cut", "--fail-on", "critical"]), Some(10 | 11)));
    assert!(matches!(code(&["whole", "empty", "--fail-on", "critical"]), Some(10 | 11)));
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let html = text(&dir.run(&["diagnose", "app-1", "--format", "html"]).stdout);
    assert!(html.contains("default-src 'none'") && html.ends_with("</html>\n"), "{html}");
    assert!(!html.contains("src=\"") && !html.contains("http://") && !html.contains("https://"));
}

#[test]
fn secrets_of_a_log_are_masked() {
    let log = base::retried_log()
        .replace(r#""Loss Reason":"lost""#, r#""Loss Reason":"password=hunter2 s3://u:hunter2@b""#);
    let dir = Dir::new(&[("app-1", log.as_bytes())]);
    for format in ["text", "markdown", "json", "html"] {
        let output = dir.run(&["diagnose", "app-1", "--all", "--format", format]);
        assert!(!text(&output.stdout).contains("hunter2"), "{format}");
    }
}

#[test]
fn reference_pages() {
    let dir = Dir::new(&[]);
    let index = text(&dir.run(&["docs"]).stdout);
    assert!(index.starts_with("Findings\n") && index.contains("floor_share"), "{index}");
    for page in emberscope_analysis::reference::pages() {
        let shown = text(&dir.run(&["docs", page.tag]).stdout);
        assert!(shown.starts_with(&format!("{}: ", page.tag)) && !shown.contains("<a id"), "{shown}");
        for kind in &page.types {
            assert_eq!(text(&dir.run(&["docs", &format!("{}#{}", page.tag, kind.name)]).stdout), shown);
        }
    }
    let skew = text(&dir.run(&["docs", "SKEW"]).stdout);
    for name in ["SKEW-0123456789ab", "skew-0123456789ab.2", "skew"] {
        assert_eq!(text(&dir.run(&["docs", name]).stdout), skew, "{name}");
    }
    assert!(text(&dir.run(&["docs", "missingpushdown"]).stdout).starts_with("PLAN: "));
    assert_eq!(text(&dir.run(&["docs", "run"]).stdout), index);
    assert!(error(&dir, &["docs", "nosuch"]).contains("no page is called `nosuch`"));
}
