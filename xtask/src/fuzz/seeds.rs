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
        _ => Vec::new(),
    })
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
