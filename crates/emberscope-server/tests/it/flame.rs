//! Flame graphs of the recordings of a run.

use crate::base::{TOKEN, fixtures, get, options, server, with};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tower::ServiceExt;

/// A log of one application, and recordings of its executor 1 and its driver beside those of another one.
struct Place {
    dir: TempDir,
    application: String,
}

const THREADS: &str = "org.apache.spark.profiler.SparkProfilerTaskThreadEvent";

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let log =
            std::fs::read_dir(fixtures().join("logs/codec-none-4.3.0")).unwrap().next().unwrap().unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        std::fs::write(dir.path().join("logs/app"), &text).unwrap();
        let start = text.lines().find(|line| line.contains("SparkListenerApplicationStart")).unwrap();
        let start: Value = serde_json::from_str(start).unwrap();
        let application = start["App ID"].as_str().unwrap().to_owned();
        let place = Place { dir, application };
        place.record(&place.application, "profile-exec-1.jfr", "jdk17.jfr");
        place.record(&place.application, "profile-driver.jfr", "jdk25.jfr");
        place.record("application_1_1", "profile-exec-9.jfr", "jdk17.jfr");
        std::fs::write(place.profiles().join(&place.application).join("profile-exec-7.jfr"), "no recording")
            .unwrap();
        place
    }

    fn profiles(&self) -> PathBuf {
        self.dir.path().join("profiles")
    }

    fn record(&self, application: &str, name: &str, from: &str) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emberscope-jfr/tests/data");
        let to = self.profiles().join(application);
        std::fs::create_dir_all(&to).unwrap();
        std::fs::copy(data.join(from), to.join(name)).unwrap();
    }

    /// Says in the log that a thread of executor 1 ran a task, all the time.
    fn tell(&self, task: u64, thread: u64) {
        let log = self.dir.path().join("logs/app");
        let mut text = std::fs::read_to_string(&log).unwrap();
        let line = json!({ "Event": THREADS, "taskId": task, "executorId": "1", "javaThreadId": thread,
            "startTime": 0, "endTime": 4_000_000_000_000i64 });
        text.push_str(&format!("{line}\n"));
        std::fs::write(&log, text).unwrap();
    }

    fn server(&self, recordings: &Path) -> Router {
        let mut options = options(&[&self.dir.path().join("logs")]);
        options.recordings = vec![recordings.display().to_string()];
        with(options)
    }
}

fn run_of(server: &Router) -> String {
    get(server, "/api/emberscope/v1/runs").json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

fn ask(server: &Router, path: &str) -> Value {
    let answer = get(server, &format!("/api/emberscope/v1/runs/{}/{path}", run_of(server)));
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
    answer.json()
}

fn refused(server: &Router, path: &str) -> (StatusCode, String) {
    let answer = get(server, &format!("/api/emberscope/v1/runs/{}/{path}", run_of(server)));
    (answer.status, answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned())
}

fn texts<'v>(list: &'v Value, name: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|one| one[name].as_str().unwrap()).collect()
}

fn sum(graph: &Value) -> i64 {
    graph["graph"]["sum"].as_i64().unwrap()
}

#[test]
fn options_are_those_of_the_files() {
    let place = Place::new();
    let server = place.server(&place.profiles());
    let options = ask(&server, "flame/options");
    assert_eq!(texts(&options["executors"], "executor"), ["driver", "1"]);
    assert_eq!((&options["default_executor"], &options["threads_of"]), (&json!("driver"), &json!("driver")));
    assert_eq!(options["unreadable"][0], "profile-exec-7.jfr: no recording of Java Flight Recorder");
    assert!(texts(&options["events"], "event").contains(&"cpu"), "{}", options["events"]);
    assert_eq!(options["distortion"], Value::Null);
    let of_one = ask(&server, "flame/options?executor=1");
    assert_eq!(of_one["threads_of"], "1");
    assert!(texts(&of_one["threads"], "name").contains(&"burner"));
    let ids: Vec<u64> = of_one["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["java_thread_id"].as_u64().unwrap())
        .collect();
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]) && !ids.contains(&0), "{ids:?}");
    let missing = ask(&server, "flame/options?executor=9");
    assert_eq!((&missing["threads"], &missing["threads_of"]), (&json!([]), &Value::Null));
    // The recordings say themselves which thread ran which task.
    assert_eq!(options["tasks_from"], "recordings");
    assert!(
        options["stages"].as_array().unwrap().iter().any(|stage| stage["id"] == 7 && stage["attempt"] == 1)
    );
    std::fs::remove_file(place.profiles().join(&place.application).join("profile-driver.jfr")).unwrap();
    assert_eq!(ask(&server, "flame/options")["default_executor"], "1");
}

#[test]
fn without_recordings_there_is_nothing_to_ask_for() {
    let server = server(&[&fixtures().join("logs/codec-none-4.3.0")]);
    let options = ask(&server, "flame/options");
    assert_eq!((&options["executors"], &options["events"]), (&json!([]), &json!([])));
    assert_eq!(options["default_executor"], Value::Null);
    assert_eq!(ask(&server, "flame/stages"), json!({ "stages": [] }));
    let (status, told) = refused(&server, "flame");
    assert_eq!((status, told.as_str()), (StatusCode::NOT_FOUND, "there is no recording of this run"));
}

#[test]
fn directories_belong_to_the_run_they_are_named_after_and_to_an_only_run() {
    let place = Place::new();
    let own = place.server(&place.profiles().join(&place.application));
    assert_eq!(texts(&ask(&own, "flame/options")["executors"], "executor"), ["driver", "1"]);
    let beside = place.server(&place.profiles().join("application_1_1"));
    assert_eq!(texts(&ask(&beside, "flame/options")["executors"], "executor"), ["9"]);
    // With two runs, whose they are cannot be told.
    let more = fixtures().join("logs/rdd-4.3.0");
    let mut options = options(&[&place.dir.path().join("logs"), &more]);
    options.recordings = vec![place.profiles().join("application_1_1").display().to_string()];
    assert_eq!(ask(&with(options), "flame/options")["executors"], json!([]));
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    let place = Place::new();
    let outside = place.profiles().join("application_1_1/profile-exec-9.jfr");
    let inside = place.profiles().join(&place.application);
    std::os::unix::fs::symlink(&outside, inside.join("profile-exec-8.jfr")).unwrap();
    assert_eq!(
        texts(&ask(&place.server(&inside), "flame/options")["executors"], "executor"),
        ["driver", "1"]
    );
}

#[test]
fn samples_are_chosen_and_sums_are_exact() {
    let place = Place::new();
    let server = place.server(&place.profiles());
    let all = ask(&server, "flame?event=sleep");
    assert_eq!(all["graph"]["unit"], "nanoseconds");
    let one = sum(&ask(&server, "flame?event=sleep&executor=1"));
    let driver = sum(&ask(&server, "flame?event=sleep&executor=driver"));
    assert!(one > 0 && driver > 0 && one + driver == sum(&all));
    let own: i64 =
        all["graph"]["nodes"]["own"].as_array().unwrap().iter().map(|own| own.as_i64().unwrap()).sum();
    assert_eq!(own, sum(&all));
    let cut = ask(&server, "flame?event=sleep&max_nodes=2&max_depth=1");
    assert_eq!((sum(&cut), &cut["graph"]["nodes"]["total"][0]), (sum(&all), &json!(sum(&all))));
    assert!(cut["graph"]["left_out"]["weight"].as_i64().unwrap() > 0);
    assert_eq!(cut["hottest"], all["hottest"], "counted before anything is left out");
    let inverted = ask(&server, "flame?event=sleep&inverted=true");
    assert_eq!((sum(&inverted), &inverted["hottest"]), (sum(&all), &all["hottest"]));
    assert_ne!(inverted["graph"]["nodes"], all["graph"]["nodes"]);
    let threads = ask(&server, "flame?event=cpu&executor=1&thread=burner");
    assert!(texts(&threads["hottest"], "frame").contains(&"Burn.spin"));
    let burner = ask(&server, "flame/options?executor=1");
    let burner = burner["threads"].as_array().unwrap().iter().find(|one| one["name"] == "burner").unwrap();
    let by_id = ask(&server, &format!("flame?event=cpu&executor=1&thread_id={}", burner["java_thread_id"]));
    assert_eq!(by_id["graph"], threads["graph"]);
    let stage = sum(&ask(&server, "flame?event=cpu&executor=1&stage=7.1"));
    assert!(stage > 0 && stage <= sum(&threads));
    let both = ask(&server, "flame?event=sleep&executor=1&against=executor%3Ddriver");
    assert_eq!((sum(&both), &both["graph"]["baseline_sum"]), (one, &json!(driver)));
}

#[test]
fn heat_is_of_all_the_time_and_times_choose_from_it() {
    let place = Place::new();
    let server = place.server(&place.profiles());
    let heat = ask(&server, "flame/heat?event=sleep&executor=1&from_ms=0&to_ms=1");
    let graph = ask(&server, "flame?event=sleep&executor=1");
    let row = &heat["heat"]["rows"][0];
    let weights: Vec<i64> =
        row["weights"].as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect();
    assert_eq!((&row["executor"], weights.iter().sum::<i64>()), (&json!("1"), sum(&graph)));
    let start = heat["heat"]["start_ms"].as_i64().unwrap() - heat["start_time_ms"].as_i64().unwrap();
    let slice = heat["heat"]["slice_ms"].as_i64().unwrap();
    let middle = start + slice * weights.len() as i64 / 2;
    let first = sum(&ask(&server, &format!("flame?event=sleep&executor=1&to_ms={middle}")));
    let rest = sum(&ask(&server, &format!("flame?event=sleep&executor=1&from_ms={middle}")));
    assert!(first > 0 && rest > 0 && first + rest == sum(&graph));
}

#[test]
fn the_log_says_which_thread_ran_which_task() {
    let place = Place::new();
    let threads = ask(&place.server(&place.profiles()), "flame/options?executor=1");
    let burner = threads["threads"].as_array().unwrap().iter().find(|one| one["name"] == "burner").unwrap();
    place.tell(0, burner["java_thread_id"].as_u64().unwrap());
    let server = place.server(&place.profiles());
    let options = ask(&server, "flame/options");
    assert_eq!(options["tasks_from"], "log");
    let stages = options["stages"].as_array().unwrap();
    assert_eq!((stages.len(), &stages[0]["tasks"]), (1, &json!(1)));
    let stage = format!("{}.{}", stages[0]["id"], stages[0]["attempt"]);
    let graph = ask(&server, &format!("flame?event=cpu&stage={stage}"));
    let by_thread = ask(&server, "flame?event=cpu&executor=1&thread=burner");
    assert_eq!(graph["graph"]["nodes"], by_thread["graph"]["nodes"]);
    assert_eq!(sum(&graph), sum(&ask(&server, "flame?event=cpu&task=0")));
}

#[test]
fn what_is_not_there_is_told() {
    let place = Place::new();
    let server = place.server(&place.profiles());
    let missing = StatusCode::NOT_FOUND;
    for (path, status, told) in [
        ("flame?event=wall", missing, "no `wall` was recorded"),
        ("flame?executor=5", missing, "no recording is of executor `5`"),
        ("flame?thread=nobody", missing, "no thread is `nobody`"),
        ("flame?executor=1&thread_id=99999", missing, "no thread is `99999`"),
        ("flame?stage=99", missing, "no task is the one that is asked for"),
        ("flame?event=colour", StatusCode::BAD_REQUEST, "no event `colour`"),
        ("flame?stage=x", StatusCode::BAD_REQUEST, "`x` is no stage: write 14, or 14.1 for an attempt"),
        ("flame?min_fraction=2", StatusCode::BAD_REQUEST, "min_fraction `2` is no number from 0 to 1"),
        (
            "flame?thread=a&thread_id=1",
            StatusCode::BAD_REQUEST,
            "thread_id and thread: one of them names the threads",
        ),
    ] {
        assert_eq!(refused(&server, path), (status, told.to_owned()), "{path}");
    }
    assert!(options(&[]).recordings.is_empty());
    let mut wrong = options(&[&place.dir.path().join("logs")]);
    wrong.recordings = vec![place.dir.path().join("logs/app").display().to_string()];
    assert!(emberscope_server::App::new(wrong).unwrap_err().to_string().contains("no directory"));
}

#[test]
fn a_client_that_goes_stops_no_other() {
    let place = Place::new();
    let server = place.server(&place.profiles());
    let path = format!("/api/emberscope/v1/runs/{}/flame?event=cpu", run_of(&server));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let request = || {
            Request::get(&path)
                .header(header::HOST, "127.0.0.1:18480")
                .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
                .body(Body::empty())
                .unwrap()
        };
        let goes = tokio::spawn(server.clone().oneshot(request()));
        tokio::task::yield_now().await;
        goes.abort();
        let stays = server.clone().oneshot(request()).await.unwrap();
        assert_eq!(stays.status(), StatusCode::OK);
    });
}
