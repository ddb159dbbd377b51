//! First inputs for the fuzz targets: small pieces of the fixtures.

use crate::run::root;
use anyhow::{Context, Result};
use emberscope_log::source::discover;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Longest line that makes a seed.
const LINE_BYTES: usize = 8192;
/// How many lines of one kind of event become seeds.
const LINES: usize = 12;

/// Writes the seeds of a target into a directory.
pub(crate) fn plant(target: &str, directory: &Path) -> Result<()> {
    for (number, seed) in seeds(target)?.iter().enumerate() {
        fs::write(directory.join(format!("seed-{number:03}")), seed)?;
    }
    Ok(())
}

fn seeds(target: &str) -> Result<Vec<Vec<u8>>> {
    let stream = |suffix: &str| -> Result<Vec<u8>> {
        let path = root().join("crates/emberscope-log/tests/data/codec").join(format!("stream.{suffix}"));
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(match target {
        "lz4block" => vec![stream("lz4")?],
        "lz4frame" => vec![stream("lz4frame")?],
        "lzf" => vec![stream("lzf")?],
        "snappy" => vec![stream("snappy")?],
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&stream("plain")?)?;
            let one = encoder.finish()?;
            vec![one.repeat(2), one]
        }
        "archive" => vec![zipped(&[("local-1", stream("plain")?), ("dir/events_1_local-2.lz4", stream("lz4")?)])?],
        "layout" => vec![
            b"app-20260101-0001\neventlog_v2_local-1/appstatus_local-1\neventlog_v2_local-1/events_1_local-1.zstd\n\
              eventlog_v2_local-1/events_2_local-1.zstd.compact\nlogs/local-1_1.lz4.inprogress\n"
                .to_vec(),
            b"1/eventlog\n1/eventlog-2026-01-01--00-00.gz\n1/eventlog-2026-01-01--01-00.gz\n._x\n.crc\na.zip\n".to_vec(),
        ],
        "task" => lines(&["SparkListenerTaskEnd", "SparkListenerTaskStart"])?,
        "plan" => lines(&["SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"])?,
        "stage" => lines(&[
            "SparkListenerJobStart",
            "SparkListenerStageSubmitted",
            "SparkListenerStageCompleted",
        ])?,
        "block" => blocks(&lines(&[])?),
        "scan" => {
            let sizes: [[u8; 4]; 3] = [[15, 255, 3, 0], [255, 0, 2, 1], [63, 100, 0, 2]];
            let texts = blocks(&lines(&[])?);
            sizes.iter().zip(texts).map(|(sizes, text)| [&sizes[..], &text].concat()).collect()
        }
        "explain" => texts(&["formatted.txt", "extended.txt", "simple.txt", "show.txt", "final.txt"])?,
        "driver_log" => pieces(&texts(&["driver.log"])?),
        "sql_text" => {
            let mut statements = texts(&["query.sql"])?;
            statements.extend(SQL.iter().map(|text| text.as_bytes().to_vec()));
            statements
        }
        "answers" => answers()?,
        _ => Vec::new(),
    })
}

/// Statements in Spark's own forms.
const SQL: [&str; 4] = [
    "WITH a AS (SELECT /*+ BROADCAST(b) */ k, row_number() OVER (PARTITION BY k ORDER BY ts DESC) r FROM db.t1)\n\
     INSERT OVERWRITE TABLE out SELECT DISTINCT a.k FROM a LEFT SEMI JOIN `db`.`t2` b USING (k)\n\
     LATERAL VIEW explode(xs) e AS x WHERE a.r = 1 DISTRIBUTE BY k",
    "SELECT TRANSFORM(a) USING 'x' AS (b) FROM db.t\nJOIN u ON t.k = u.k2 GROUP BY a, b ORDER BY c ~~~ ???",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *; -- end\nSELECT 1",
    "SELECT a, count(DISTINCT b) FROM t GROUP BY 1 WITH ROLLUP UNION ALL (SELECT x, y FROM u LIMIT 3) SORT BY 1",
];

/// What `fixtures/scenarios/explain.py` wrote, of each version.
fn texts(names: &[&str]) -> Result<Vec<Vec<u8>>> {
    let data = root().join("crates/emberscope-text/tests/data");
    let mut texts = Vec::new();
    for version in ["explain-3.5.9", "explain-4.3.0"] {
        for name in names {
            let path = data.join(version).join(name);
            texts.push(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
    }
    Ok(texts)
}

/// Texts in pieces of whole lines.
fn pieces(texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let lines: Vec<Vec<u8>> = texts
        .iter()
        .flat_map(|text| text.split_inclusive(|byte| *byte == b'\n'))
        .filter(|line| line.len() <= LINE_BYTES)
        .map(<[u8]>::to_vec)
        .collect();
    blocks(&lines)
}

/// Small recordings of the History Server, as one object by path.
fn answers() -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for name in ["codec-none-4.3.0", "empty-3.5.9", "rdd-4.3.0", "executor-loss-4.3.0", "cache-4.3.0"] {
        let path = root().join("referee/answers").join(format!("{name}.json.zst"));
        let file = fs::File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let recorded: serde_json::Value = serde_json::from_reader(zstd::Decoder::new(file)?)?;
        let first = |name: &str, most: usize| {
            let items = recorded[name].as_array().map_or(&[][..], Vec::as_slice);
            serde_json::Value::from(items.iter().take(most).cloned().collect::<Vec<_>>())
        };
        let mut by_path = serde_json::Map::new();
        for (path, name) in
            [("jobs", "jobs"), ("stages", "stages"), ("allexecutors", "executors"), ("sql", "sql")]
        {
            by_path.insert(path.to_owned(), first(name, 2));
        }
        let app = &recorded["application"];
        by_path.insert(
            String::new(),
            serde_json::json!({ "id": app["id"], "name": app["name"], "attempts": [app["attempt"]] }),
        );
        for (key, tasks) in recorded["tasks"].as_object().into_iter().flatten().take(2) {
            let tasks: Vec<_> = tasks.as_array().into_iter().flatten().take(2).cloned().collect();
            by_path.insert(format!("stages/{key}/taskList"), tasks.into());
        }
        seeds.push(serde_json::to_vec(&by_path)?);
    }
    Ok(seeds)
}

fn zipped(entries: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default())?;
        writer.write_all(bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Short lines of the fixtures: some of each of the named events, or one of every event.
fn lines(names: &[&str]) -> Result<Vec<Vec<u8>>> {
    let found = discover(&root().join("fixtures/logs").to_string_lossy())?;
    let mut kept = Vec::new();
    let mut seen = HashSet::new();
    for run in &found.runs {
        let mut of_run = HashSet::new();
        for line in text(run)?.split_inclusive(|byte| *byte == b'\n') {
            let name = event_name(line);
            let wanted = if names.is_empty() {
                !seen.contains(&name)
            } else {
                names.contains(&name.as_str()) && of_run.insert(name.clone())
            };
            if wanted && line.len() <= LINE_BYTES && kept.len() < LINES * names.len().max(5) {
                seen.insert(name);
                // Targets for one line get it without its end.
                let end = if names.is_empty() { line.len() } else { line.trim_ascii_end().len() };
                kept.push(line[..end].to_vec());
            }
        }
    }
    Ok(kept)
}

/// Joins lines to texts of a few kB.
fn blocks(lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    for line in lines {
        match texts.last_mut() {
            Some(text) if text.len() + line.len() <= LINE_BYTES => text.extend_from_slice(line),
            _ => texts.push(line.clone()),
        }
    }
    texts
}

fn event_name(line: &[u8]) -> String {
    let name = line.strip_prefix(b"{\"Event\":\"").unwrap_or_default();
    let end = name.iter().position(|byte| *byte == b'"').unwrap_or_default();
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

fn text(run: &emberscope_log::source::RunSource) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    for member in &run.members {
        let mut decoder = member.open()?;
        loop {
            match decoder.read(&mut buffer) {
                0 => break,
                n => text.extend_from_slice(&buffer[..n]),
            }
        }
    }
    Ok(text)
}
