//! What single lines say.

use super::words::Topics;
use super::{Block, BlockKind, DriverLog, Operation, Task};

/// How many lines about memory are kept.
const TOLD_LINES: usize = 20;
/// Longest text of an error that is kept, characters.
const TOLD_CHARS: usize = 500;
/// Task attempts that are kept.
const MOST_TASKS: usize = 5_000_000;
/// What lines about the Spark UI say (`SparkUI`, `SparkSubmit`, YARN's `Client`).
const UI_WORDS: [&str; 6] =
    ["SparkUI", "Spark UI", "Spark Web UI", "tracking URL", "Tracking URL", "trackingUrl"];
/// How many addresses are kept.
const ADDRESSES: usize = 20;

/// Takes what a line says; `text` is what follows its time.
pub(super) fn take(log: &mut DriverLog, time: Option<i64>, text: &str, block: &mut Block) {
    let topics = Topics::of(text);
    if topics.is_empty() {
        return;
    }
    if topics.has(Topics::GC) {
        gc(log, text);
    }
    if topics.has(Topics::APPLICATION) {
        application(log, text);
    }
    if topics.has(Topics::ADDRESS) {
        ui_addresses(log, text);
    }
    if topics.has(Topics::OUT_OF_MEMORY) && log.out_of_memory.len() < TOLD_LINES {
        log.out_of_memory.push(shortened(text.trim()));
    }
    if topics.has(Topics::PLAN) && plan(text, block) {
        return;
    }
    if topics.has(Topics::OPERATION) {
        operation(log, time, text, block);
    }
    if topics.has(Topics::SCHEDULER) {
        scheduler(log, time, text);
    }
    if topics.has(Topics::TASKS) {
        tasks(log, time, text);
    }
    if topics.has(Topics::EXECUTORS) {
        executors(log, time, text);
    }
}

/// Whether a plan begins here.
fn plan(text: &str, block: &mut Block) -> bool {
    if let Some(at) = text.find("== Physical Plan ==") {
        block.open(BlockKind::Plan, &text[at..]);
        return true;
    }
    for title in ["Final plan: ", "Final plan:", "Plan changed from", "Current plan: "] {
        if let Some((_, plan)) = text.split_once(title) {
            block.open(BlockKind::Plan, plan);
            return true;
        }
    }
    false
}

fn shortened(text: &str) -> String {
    first_chars(text).to_owned()
}

fn first_chars(text: &str) -> &str {
    text.char_indices().nth(TOLD_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// The text between two others.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once(after).map(|(inside, _)| inside)
}

/// What follows a text.
fn after<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    text.split_once(before).map(|(_, rest)| rest)
}

/// The number that a text begins with.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// A duration such as `3.454613 s` or `3454 ms`, milliseconds.
fn duration_ms(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let value: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim_start() {
        unit if unit.starts_with("ms") => 1.0,
        unit if unit.starts_with('s') => 1000.0,
        _ => return None,
    };
    Some((value * factor).round() as i64)
}

fn application(log: &mut DriverLog, text: &str) {
    if log.application_id.is_none() {
        log.application_id = application_id(text);
    }
    if log.application_name.is_none() {
        log.application_name = after(text, "Submitted application: ").map(|name| name.trim().to_owned());
    }
    if log.spark_version.is_none() {
        let version = after(text, "Running Spark version ");
        log.spark_version = version
            .and_then(|rest| rest.split_whitespace().next())
            .map(|version| version.trim_matches('.').to_owned());
    }
}

fn ui_addresses(log: &mut DriverLog, text: &str) {
    // Lines of programs name all kinds of addresses: only what Spark and YARN say of their own is one to ask.
    let is_about_ui = UI_WORDS.iter().any(|words| text.contains(words));
    if is_about_ui && log.ui_addresses.len() < ADDRESSES {
        for address in addresses(text) {
            if !log.ui_addresses.contains(&address) {
                log.ui_addresses.push(address);
            }
        }
    }
}

fn addresses(text: &str) -> impl Iterator<Item = String> {
    let starts = text.match_indices("http").map(|(at, _)| at);
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | ')' | ']' | ',' | ';');
    starts.filter_map(move |at| {
        let address = text[at..].split(is_end).next().unwrap_or_default().trim_end_matches('.');
        let host = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"))?;
        (!host.is_empty() && !host.starts_with('/')).then(|| address.to_owned())
    })
}

/// Ids that YARN, standalone, local mode and Kubernetes give.
fn application_id(text: &str) -> Option<String> {
    let parts = |kind: &str, lengths: &[std::ops::RangeInclusive<usize>], separator: char| {
        text.match_indices(kind).find_map(|(at, _)| {
            let is_word = !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
            let id: &str = &text[at..at + kind.len()];
            let mut rest = &text[at + kind.len()..];
            let mut end = at + id.len();
            for (n, length) in lengths.iter().enumerate() {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                if !length.contains(&digits) {
                    return None;
                }
                end += digits;
                rest = &rest[digits..];
                if n + 1 < lengths.len() {
                    rest = rest.strip_prefix(separator)?;
                    end += separator.len_utf8();
                }
            }
            is_word.then(|| text[at..end].to_owned())
        })
    };
    let on_kubernetes = || {
        let id = after(text, "spark-")?;
        let digits = id.bytes().take_while(u8::is_ascii_hexdigit).count();
        (digits == 32).then(|| format!("spark-{}", &id[..32]))
    };
    parts("application_", &[10..=16, 4..=9], '_')
        .or_else(|| parts("app-", &[14..=14, 4..=9], '-'))
        .or_else(|| parts("local-", &[10..=16], '-'))
        .or_else(on_kubernetes)
}

/// Kyuubi: `Processing bob's query[ID]: PENDING_STATE -> RUNNING_STATE, statement: ...`; the Thrift server:
/// `Submitting query 'select ..' with ID`.
fn operation(log: &mut DriverLog, time: Option<i64>, text: &str, block: &mut Block) {
    let of_kyuubi = || {
        let (_, rest) = text.split_once("query[").or_else(|| text.split_once("statement["))?;
        let (id, rest) = rest.split_once(']')?;
        is_uuid(id).then_some((id, rest))
    };
    if let Some((id, rest)) = of_kyuubi() {
        let state = after(rest, " -> ").and_then(|rest| rest.split([',', ' ']).next());
        let known = operation_of(log, id, time);
        known.last_ms = time.or(known.last_ms);
        if let Some(state) = state {
            known.state = Some(state.trim_end_matches("_STATE").to_owned());
        }
        if let Some((_, statement)) = rest.split_once("statement:") {
            block.open(BlockKind::Statement(id.to_owned()), statement.trim_start());
        }
    } else if let Some(rest) = after(text, "Submitting query '")
        && let Some((statement, id)) = rest.rsplit_once("' with ")
        && is_uuid(id.trim())
    {
        let statement = statement.to_owned();
        let known = operation_of(log, id.trim(), time);
        known.statement.get_or_insert(statement);
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn operation_of<'l>(log: &'l mut DriverLog, id: &str, time: Option<i64>) -> &'l mut Operation {
    let at = *log.operation_places.entry(id.to_owned()).or_insert_with(|| {
        log.operations.push(Operation { id: id.to_owned(), first_ms: time, ..Operation::default() });
        log.operations.len() - 1
    });
    &mut log.operations[at]
}

/// Lines of the DAG scheduler.
fn scheduler(log: &mut DriverLog, time: Option<i64>, text: &str) {
    if let Some(rest) = after(text, "Got job ").or_else(|| after(text, "Got map stage job ")) {
        let Some(id) = number(rest) else { return };
        let job = log.jobs.entry(id).or_default();
        job.start_ms = time;
        job.name = between(rest, " (", ") with ").unwrap_or_default().to_owned();
        log.latest_job = Some(id);
    } else if let Some(rest) = after(text, "Parents of final stage: List(") {
        let parents = rest.split(['(', ')', ',']).filter_map(|part| number(part.trim().rsplit(' ').next()?));
        let parents: Vec<u32> = parents.collect();
        if let Some(job) = log.latest_job.and_then(|id| log.jobs.get_mut(&id)) {
            job.parents = parents;
        }
    } else if let Some(rest) = after(text, "Final stage: ") {
        let stage = after(rest, "Stage ").and_then(number);
        if let Some(job) = log.latest_job.and_then(|id| log.jobs.get_mut(&id)) {
            job.final_stage = stage;
        }
    } else if let Some(rest) = after(text, "DAGScheduler: Job ").or_else(|| after(text, ": Job ")) {
        let Some(id) = number(rest) else { return };
        let (is_finished, is_failed) = (rest.contains(" finished: "), rest.contains(" failed: "));
        if is_finished || is_failed {
            let job = log.jobs.entry(id).or_default();
            job.end_ms = time;
            job.is_failed = is_failed;
        }
    } else {
        stage(log, time, text);
    }
}

/// `Submitting ResultStage 4 (...)`, `Submitting 4 missing tasks from ShuffleMapStage 0 (...)`,
/// `ResultStage 4 (collect at x) finished in 3.296 s`, `... failed in 0.2 s due to ...`.
fn stage(log: &mut DriverLog, time: Option<i64>, text: &str) {
    let Some((id, rest)) = ["ShuffleMapStage ", "ResultStage "].iter().find_map(|kind| {
        let rest = after(text, kind)?;
        Some((number::<u32>(rest)?, rest))
    }) else {
        return;
    };
    let is_result = text.contains("ResultStage ");
    let name = || {
        between(rest, " at ", "), which").or_else(|| between(rest, "(", ") ")).unwrap_or_default().to_owned()
    };
    if text.contains("Submitting ") && text.contains(" missing tasks from ") {
        let tasks = after(text, "Submitting ").and_then(number);
        let stage = log.stages.entry((id, log.attempt_of(id))).or_default();
        stage.tasks = tasks;
        stage.submitted_ms = stage.submitted_ms.or(time);
        stage.is_result = is_result;
    } else if text.contains("Submitting ") && rest.contains("which has no missing parents") {
        // A stage that ended before is submitted again as another attempt.
        let attempt = match log.stages.get(&(id, log.attempt_of(id))) {
            Some(known) if known.ended_ms.is_some() => log.attempt_of(id) + 1,
            _ => log.attempt_of(id),
        };
        let stage = log.stages.entry((id, attempt)).or_default();
        stage.submitted_ms = time;
        stage.is_result = is_result;
        if let Some(call_site) = between(rest, " at ", "), which") {
            stage.name = call_site.to_owned();
        }
    } else if let Some((head, took)) =
        rest.split_once(") finished in ").or_else(|| rest.split_once(") failed in "))
    {
        let stage = log.stages.entry((id, log.attempt_of(id))).or_default();
        stage.ended_ms = time;
        stage.is_result = is_result;
        stage.name = head.split_once('(').map_or_else(name, |(_, name)| name.to_owned());
        if stage.submitted_ms.is_none() {
            stage.submitted_ms = time.zip(duration_ms(took)).map(|(end, took)| end - took);
        }
        if rest.contains(") failed in ") {
            stage.failure = Some(shortened(after(took, " due to ").unwrap_or("no reason given")));
        }
    }
}

/// `Starting task 19.0 in stage 22.0 (TID 45) (host, executor 1, partition 19, ...)`, `Finished task 17.0 in stage
/// 22.0 (TID 43) in 20350 ms on host (executor 1) (18/60)`, `Lost task 1.0 in stage 18.0 (TID 16) (host executor 1): ...`.
fn tasks(log: &mut DriverLog, time: Option<i64>, text: &str) {
    let kinds = ["Starting task ", "Finished task ", "Lost task "];
    let Some((kind, rest)) = kinds.iter().find_map(|kind| Some((*kind, after(text, kind)?))) else { return };
    // What an executor logs of the same task has no executor in it; the driver's lines have.
    if text.contains("Job aborted") || !text.contains("TaskSetManager") && !rest.contains("executor ") {
        return;
    }
    let pair = |text: &str| {
        let (first, second) = text.split_once('.')?;
        Some((number::<u32>(first)?, number::<u32>(second)?))
    };
    let place = || {
        let (index, attempt) = pair(rest)?;
        let stage = pair(after(rest, "in stage ")?)?;
        Some((index, attempt, stage, number::<u64>(after(rest, "(TID ")?)?))
    };
    let Some((index, attempt, stage, id)) = place() else { return };
    if log.tasks.len() >= MOST_TASKS && !log.tasks.contains_key(&id) {
        log.tasks_not_kept += 1;
        return;
    }
    let texts = &mut log.texts;
    let task = log.tasks.entry(id).or_insert_with(|| Task { stage, index, attempt, ..Task::default() });
    if let Some(executor) = after(rest, "executor ") {
        let executor = executor.split([',', ')', ':', ' ']).next().unwrap_or_default();
        task.executor = Some(texts.kept(executor));
    }
    match kind {
        "Starting task " => {
            task.launched_ms = time;
            let host = rest.rsplit_once(", executor").map(|(before, _)| before);
            let host = host.and_then(|before| before.rsplit('(').next());
            task.host = host.map(|host| texts.kept(host.trim()));
        }
        "Finished task " => {
            task.ended_ms = time;
            task.duration_ms = after(rest, ") in ").and_then(duration_ms);
        }
        _ => {
            task.ended_ms = time;
            task.failure = after(rest, "): ").map(|reason| texts.kept(first_chars(reason.trim())));
        }
    }
    let stages = log.stages.entry(stage).or_default();
    stages.submitted_ms = stages.submitted_ms.or(time);
}

fn executors(log: &mut DriverLog, time: Option<i64>, text: &str) {
    if let Some(rest) = after(text, "Registered executor ")
        && let Some(id) = after(rest, " with ID ").and_then(|rest| rest.split([',', ' ']).next())
    {
        let host = between(rest, "(", ":")
            .filter(|host| !host.contains(' '))
            .map(|host| host.rsplit('(').next().unwrap_or(host));
        let executor = log.executors.entry(id.to_owned()).or_default();
        executor.added_ms = time;
        executor.host = between(rest, ") (", ":").or(host).map(str::to_owned);
    } else if let Some(rest) = after(text, "BlockManagerId(")
        && text.contains("Registering block manager")
    {
        let mut parts = rest.split(", ");
        let (Some(id), host) = (parts.next(), parts.next()) else { return };
        let executor = log.executors.entry(id.to_owned()).or_default();
        executor.added_ms = executor.added_ms.or(time);
        executor.host = executor.host.take().or(host.map(str::to_owned));
    } else if let Some(rest) = after(text, "Lost executor ")
        && let Some((id, rest)) = rest.split_once(" on ")
    {
        let executor = log.executors.entry(id.to_owned()).or_default();
        executor.lost_ms = executor.lost_ms.or(time);
        let reason = rest.split_once(": ").map(|(_, reason)| shortened(reason.trim()));
        executor.reason = executor.reason.take().or(reason);
    } else if let Some(rest) = after(text, "SparkContext is stopping with exitCode ") {
        log.exit_code = number(rest);
    } else if text.contains("Successfully stopped SparkContext") {
        log.stopped_ms = time;
    }
}

/// `[GC pause (G1 Evacuation Pause) (young), 0.0123 secs]`, `[12.3s][info][gc] GC(3) Pause Young (Normal) 24M->4M(256M) 3.1ms`.
fn gc(log: &mut DriverLog, text: &str) {
    let is_unified = text.contains("][gc") && text.contains("Pause ");
    let is_old = text.contains("[GC") || text.contains("[Full GC");
    if !is_unified && !is_old {
        return;
    }
    let pause = if is_unified {
        let word = text.trim_end().rsplit(' ').next().unwrap_or_default();
        word.strip_suffix("ms").and_then(|number| number.parse::<f64>().ok())
    } else {
        let before = text.split(" secs]").next().unwrap_or_default();
        let number = before.rsplit([' ', ',']).find(|part| !part.is_empty());
        number.and_then(|number| number.parse::<f64>().ok()).map(|seconds| seconds * 1000.0)
    };
    let Some(pause) = pause.filter(|pause| pause.is_finite() && *pause >= 0.0) else { return };
    log.gc.pauses += 1;
    log.gc.total_ms += pause;
    log.gc.longest_ms = log.gc.longest_ms.max(pause);
    log.gc.full += u64::from(text.contains("Pause Full") || text.contains("[Full GC"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_applications() {
        let of = |text: &str| application_id(text);
        assert_eq!(
            of("Submitted application application_1700000000000_0042 to"),
            Some("application_1700000000000_0042".into())
        );
        assert_eq!(of("with app ID app-20240101010101-0001."), Some("app-20240101010101-0001".into()));
        assert_eq!(of("id local-1796068185981,"), Some("local-1796068185981".into()));
        assert_eq!(
            of("spark-cc4d115f011443d787f03a71a476a745"),
            Some("spark-cc4d115f011443d787f03a71a476a745".into())
        );
        assert_eq!(of("webapp-20240101010101-0001 application_x local-host"), None);
    }

    #[test]
    fn durations_and_addresses() {
        assert_eq!(duration_ms("3.454613 s"), Some(3455));
        assert_eq!(duration_ms("20350 ms on host"), Some(20350));
        assert_eq!(duration_ms("soon"), None);
        let found: Vec<String> =
            addresses("UI at http://h:4040, see https://rm/proxy/application_1_1/. http:/x").collect();
        assert_eq!(found, ["http://h:4040", "https://rm/proxy/application_1_1/"]);
    }
}
