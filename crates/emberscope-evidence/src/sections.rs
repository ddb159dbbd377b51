//! The report as the eight parts of a document, which each door renders in its own way.

use crate::RunKind;
use crate::report::{EvidenceReport, StageLine};
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::{Confidence, Finding, Severity};
use emberscope_analysis::phrases;
use emberscope_analysis::words::{count, duration, grouped, size};

/// A part of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Title.
    pub title: &'static str,
    /// Content.
    pub blocks: Vec<Block>,
}

/// A piece of content. All texts are plain: who renders escapes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Points.
    List(Vec<String>),
    /// A table.
    Table {
        /// Names of the columns.
        head: Vec<&'static str>,
        /// Rows, each as long as the head.
        rows: Vec<Vec<String>>,
    },
    /// SQL to be copied.
    Code(String),
}

/// What stands where nothing was measured.
const NOT_MEASURED: &str = "not measured";

/// The eight parts.
pub fn sections(diagnosis: &Diagnosis, report: &EvidenceReport) -> Vec<Section> {
    vec![
        Section { title: "Conclusion", blocks: conclusion(diagnosis) },
        Section { title: "Overview and timeline", blocks: overview(diagnosis, report) },
        Section { title: "Skew and long tails", blocks: tails(report) },
        Section { title: "Plan and SQL", blocks: plan(report) },
        Section { title: "Configuration and risks", blocks: configuration(diagnosis, report) },
        Section { title: "Suggestions", blocks: suggestions(diagnosis, report) },
        Section { title: "Evidence and its limits", blocks: evidence(diagnosis, report) },
        Section { title: "To be checked elsewhere", blocks: open(report) },
    ]
}

fn conclusion(diagnosis: &Diagnosis) -> Vec<Block> {
    let mut blocks = vec![Block::Text(diagnosis.verdict.headline.clone())];
    blocks.extend(diagnosis.verdict.notes.iter().cloned().map(Block::Text));
    let told: Vec<String> =
        diagnosis.findings.iter().filter(|finding| finding.part_of.is_none()).map(line_of).collect();
    if !told.is_empty() {
        blocks.push(Block::List(told));
    }
    blocks
}

fn line_of(finding: &Finding) -> String {
    let mut line = format!("{}: {}", finding.severity.name(), finding.title);
    if let Some(saving) = phrases::wall_saving(&finding.savings) {
        line.push_str(&format!(" (a fix saves {saving})"));
    }
    line
}

/// How the query went.
fn about(report: &EvidenceReport) -> String {
    let Some(query) = &report.query else { return String::new() };
    let after = query.submitted_after_ms.map(|at| format!(", submitted after {}", duration(at)));
    let took = query.duration_ms.map(|took| format!(", ran for {}", duration(took)));
    format!(
        ": {}{}{}, {}",
        query.status,
        after.unwrap_or_default(),
        took.unwrap_or_default(),
        count(query.jobs, "job")
    )
}

fn overview(diagnosis: &Diagnosis, report: &EvidenceReport) -> Vec<Block> {
    let application = &diagnosis.application;
    let mut facts = vec![format!("Application: {}", application.id.as_deref().unwrap_or("not known"))];
    facts.extend(application.name.as_ref().map(|name| format!("Name: {name}")));
    facts.extend(application.spark_version.as_ref().map(|version| format!("Spark {version}")));
    facts.extend(application.duration_ms.map(|ms| format!("Wall time: {}", duration(ms))));
    let has_run = matches!(report.run_kind, RunKind::EventLog | RunKind::MonitoringApi);
    facts.extend(report.sql_id.filter(|_| has_run).map(|id| format!("SQL execution: {id}{}", about(report))));
    if let Some(located) = &report.located {
        facts.push(format!("How it was found: {}", located.reason));
    }
    let mut blocks = vec![Block::List(facts)];
    if report.stages.is_empty() {
        blocks.push(Block::Text("No stage of it is known.".to_owned()));
        return blocks;
    }
    let rows = report.stages.iter().map(|stage| {
        vec![
            name_of(stage),
            ms(stage.submitted_after_ms),
            ms(stage.waiting_ms),
            ms(stage.running_ms),
            stage.tasks.to_string(),
            ms(stage.run_time_ms),
            stage.name.clone(),
        ]
    });
    blocks.push(Block::Table {
        head: vec![
            "stage",
            "submitted after",
            "waiting",
            "running",
            "tasks",
            "run time of tasks",
            "call site",
        ],
        rows: rows.collect(),
    });
    blocks
}

fn tails(report: &EvidenceReport) -> Vec<Block> {
    if report.stages.is_empty() {
        return vec![Block::Text("Not checked: no task is known.".to_owned())];
    }
    let rows = report.stages.iter().map(|stage| {
        vec![
            name_of(stage),
            format!(
                "{} / {} / {}",
                ms(stage.duration_median_ms),
                ms(stage.duration_p95_ms),
                ms(stage.duration_max_ms)
            ),
            pair(stage.records_median, stage.records_max, grouped),
            pair(stage.bytes_median, stage.bytes_max, size),
            ms(stage.slowest_deserialize_ms),
            stage.memory_spilled_bytes.map_or_else(|| NOT_MEASURED.to_owned(), size),
            if stage.findings.is_empty() { "none".to_owned() } else { stage.findings.join(", ") },
        ]
    });
    vec![
        Block::Table {
            head: vec![
                "stage",
                "task: median / p95 / longest",
                "records: median / most",
                "bytes: median / most",
                "deserialization of the longest",
                "spill",
                "findings",
            ],
            rows: rows.collect(),
        },
        Block::Text(
            "Skew shows in records and duration together; a hot key that compresses well is small in bytes. A long task with \
             usual records and long deserialization ran on a cold executor."
                .to_owned(),
        ),
    ]
}

fn plan(report: &EvidenceReport) -> Vec<Block> {
    if report.mapping.is_empty() {
        let why = match report.sql_id {
            Some(id) => format!("Execution {id} has no plan that could be read."),
            None => "No execution was named or found, so that no plan is shown.".to_owned(),
        };
        return vec![Block::Text(why)];
    }
    let rows = report.mapping.iter().map(|mapped| {
        let clause = mapped.fragment.as_ref().map_or_else(
            || mapped.reason.clone(),
            |fragment| {
                let (start, end) = (fragment.start, fragment.end);
                let place = format!("{}:{}-{}:{}", start.line, start.column, end.line, end.column);
                format!("{} at {place}: {}", fragment.kind.words(), fragment.text)
            },
        );
        vec![
            format!("{} {}", mapped.node_id, mapped.operator),
            mapped.keys.join(", "),
            clause,
            mapped.confidence.map_or_else(String::new, |confidence| confidence.name().to_owned()),
            mapped.stages.join(", ")
                + if mapped.stages_confidence == Some(Confidence::Medium) { " (likely)" } else { "" },
            mapped.tasks.map_or_else(String::new, |tasks| tasks.to_string()),
            mapped.rows.map_or_else(|| NOT_MEASURED.to_owned(), grouped),
        ]
    });
    vec![Block::Table {
        head: vec!["operator", "columns", "clause (line:column)", "confidence", "stages", "tasks", "rows"],
        rows: rows.collect(),
    }]
}

fn configuration(diagnosis: &Diagnosis, report: &EvidenceReport) -> Vec<Block> {
    let rows = report.settings.iter().map(|setting| {
        let value = setting.value.clone().unwrap_or_else(|| "not known".to_owned());
        vec![
            setting.name.clone(),
            value,
            if setting.is_set {
                "set"
            } else if setting.value.is_some() {
                "default"
            } else {
                ""
            }
            .to_owned(),
        ]
    });
    let mut blocks = match report.settings.iter().any(|setting| setting.value.is_some()) {
        true => vec![Block::Table { head: vec!["setting", "in effect", "origin"], rows: rows.collect() }],
        false => vec![Block::Text(
            "The evidence has no settings: neither what was set nor the version's defaults are known."
                .to_owned(),
        )],
    };
    let risks: Vec<String> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.tag == "CFG")
        .map(|finding| finding.title.clone())
        .collect();
    if !risks.is_empty() {
        blocks.push(Block::List(risks));
    }
    if !report.plan_risks.is_empty() {
        blocks.push(Block::Text("What the plan alone tells:".to_owned()));
        blocks.push(Block::List(report.plan_risks.clone()));
    }
    blocks
}

fn suggestions(diagnosis: &Diagnosis, report: &EvidenceReport) -> Vec<Block> {
    let mut list = Vec::new();
    let worth_doing =
        |finding: &&Finding| !finding.recommendation.text.is_empty() && finding.severity > Severity::Info;
    for finding in diagnosis.findings.iter().filter(worth_doing) {
        let changes: Vec<String> = finding.recommendation.changes.iter().map(phrases::change).collect();
        let changes = if changes.is_empty() { String::new() } else { format!(" [{}]", changes.join("; ")) };
        let saving = phrases::wall_saving(&finding.savings)
            .map_or_else(String::new, |saving| format!(" Saves {saving}."));
        list.push(format!("{}{changes}{saving} ({})", finding.recommendation.text, finding.tag));
    }
    let mut blocks = match list.is_empty() {
        true if matches!(report.run_kind, RunKind::DriverLog | RunKind::Explain) => {
            vec![Block::Text("None: most checks need evidence that is not here.".to_owned())]
        }
        true => vec![Block::Text("Nothing that would clearly help.".to_owned())],
        false => vec![Block::List(list)],
    };
    for hot in &report.hot_keys {
        blocks.push(Block::Text(format!(
            "To see the hot values of {} (finding {}); this was not run. {}",
            hot.keys.join(", "),
            hot.finding_id,
            hot.note
        )));
        blocks.push(Block::Code(hot.query.clone()));
    }
    blocks
}

fn evidence(diagnosis: &Diagnosis, report: &EvidenceReport) -> Vec<Block> {
    let mut list = Vec::new();
    for source in &report.sources {
        list.push(format!("{} {}: {}", source.kind, source.name, source.gave.join("; ")));
        list.extend(source.limits.iter().map(|limit| format!("{}: {limit}", source.kind)));
    }
    for group in phrases::unchecked(&diagnosis.not_checked) {
        list.push(format!("not checked: {}: {}", group.kinds.join(", "), group.reason));
    }
    list.push("Only GET was sent; no SQL was run, and nothing was written to a cluster.".to_owned());
    vec![Block::List(list)]
}

fn open(report: &EvidenceReport) -> Vec<Block> {
    let mut blocks = match report.open_questions.is_empty() {
        true => vec![Block::Text("Nothing.".to_owned())],
        false => vec![Block::List(report.open_questions.clone())],
    };
    let unsure =
        report.located.as_ref().filter(|located| located.sql_id.is_none() && !located.candidates.is_empty());
    if let Some(located) = unsure {
        let rows = located.candidates.iter().map(|candidate| {
            let distance = candidate.distance_ms.map_or_else(String::new, duration);
            vec![
                candidate.sql_id.to_string(),
                format!("{:.2}", candidate.score),
                distance,
                candidate.description.clone(),
            ]
        });
        blocks.push(Block::Table {
            head: vec!["SQL execution", "likeness", "from the given time", "description"],
            rows: rows.collect(),
        });
    }
    blocks
}

fn name_of(stage: &StageLine) -> String {
    format!("{}.{}", stage.stage_id, stage.stage_attempt)
}

fn ms(value: Option<i64>) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), duration)
}

fn pair(median: Option<i64>, most: Option<i64>, words: fn(i64) -> String) -> String {
    match (median, most) {
        (Some(median), Some(most)) => format!("{} / {}", words(median), words(most)),
        _ => NOT_MEASURED.to_owned(),
    }
}
