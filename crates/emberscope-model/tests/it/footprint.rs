//! What a task costs in memory.

use crate::base::run_of;
use crate::fixtures::fixture_bytes;

/// Copies of real task ends of one fixture, with other ids, times and measurements.
fn many_tasks(fixture: &str, copies: u64) -> Vec<u8> {
    let bytes = fixture_bytes(fixture);
    let ends: Vec<serde_json::Value> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| line.starts_with(br#"{"Event":"SparkListenerTaskEnd""#))
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let richest = ends
        .iter()
        .max_by_key(|end| end["Task Info"]["Accumulables"].as_array().map_or(0, Vec::len))
        .unwrap();
    let mut text = String::new();
    let mut state = 1u64;
    for task in 0..copies {
        let mut end = richest.clone();
        // Every number is off by up to an eighth, as of tasks that do alike.
        let mut noise = |value: &mut serde_json::Value| {
            let number = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            if let Some(number) = number.filter(|number| *number > 0) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *value = (number - number / 8 + (state >> 33) as i64 % (number / 4 + 1)).into();
            }
        };
        for value in end["Task Metrics"].as_object_mut().unwrap().values_mut() {
            match value {
                serde_json::Value::Object(parts) => parts.values_mut().for_each(&mut noise),
                value => noise(value),
            }
        }
        for accumulable in end["Task Info"]["Accumulables"].as_array_mut().unwrap() {
            if let Some(update) = accumulable.get_mut("Update") {
                noise(update);
            }
        }
        let launch = 1_700_000_000_000 + task * 17;
        for (key, value) in [
            ("Task ID", task),
            ("Index", task),
            ("Partition ID", task),
            ("Launch Time", launch),
            ("Finish Time", launch + 900 + task % 101),
        ] {
            end["Task Info"][key] = value.into();
        }
        text.push_str(&crate::base::event_first(&end));
        text.push('\n');
    }
    text.into_bytes()
}

#[test]
fn a_task_costs_tens_of_bytes() {
    for (fixture, limit) in [("rdd-4.3.0", 40), ("sql-noaqe-3.5.9", 60), ("sql-aqe-4.3.0", 60)] {
        let tasks = 2048;
        let run = run_of(many_tasks(fixture, tasks));
        let per_task = run.task_memory_bytes() as u64 / tasks;
        eprintln!("{fixture}: {per_task} bytes a task");
        assert!(per_task <= limit, "{fixture}: {per_task} bytes a task");
    }
}
