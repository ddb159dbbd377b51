//! The logs of the benchmark: made once by real Spark, multiplied, packed, and kept in the cache.
//!
//! ```text
//! real/tasks/<app>  ─ multiply ─► tasks-plain/<app>  ─ pack ─► tasks-zstd/<app>.zstd
//! real/plans/<app>  ─ multiply ─► plans/<app>
//! ```
//! A log that is there is not made again; delete the cache after a change of `bench/`.

use crate::run::{self, output, script};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const SPARK: &str = "4.3.0";
const TASKS: &str = "160000";
const EXECUTIONS: &str = "2000";
/// Branches of the union in the log of plans: the plan events of one execution are then about 500 kB.
const BRANCHES: &str = "27";

/// How a log was made and what it holds, as `bench/multiply.py` says.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Counts {
    /// How often the real log's work is repeated; 1 when Spark made all of it.
    copies: u64,
    /// Task ends.
    pub(crate) tasks: u64,
    /// SQL executions.
    pub(crate) executions: u64,
    /// Bytes of text.
    pub(crate) bytes: u64,
}

/// A log to measure.
#[derive(Clone)]
pub(crate) struct Log {
    /// What it is called in the report.
    pub(crate) name: &'static str,
    /// The file, alone in its directory, under a name that the History Server accepts.
    pub(crate) path: PathBuf,
    /// Application id.
    pub(crate) application: String,
    /// What it holds.
    pub(crate) counts: Counts,
    /// Whether the comparison with the server is of interest.
    pub(crate) for_server: bool,
    /// GB/s of decoded text to reach.
    pub(crate) goal_gb_s: f64,
    /// Bytes of memory to stay below.
    pub(crate) goal_bytes: u64,
}

impl Log {
    /// Says what is measured.
    pub(crate) fn print(&self) {
        let Counts { copies, tasks, executions, bytes } = self.counts;
        let made = match copies {
            1 => "all lines as Spark wrote them".to_owned(),
            n => format!("the work of a real log of {} tasks {n} times, renumbered", tasks / n),
        };
        println!(
            "\n{}: {:.0} MB of text, {tasks} tasks, {executions} SQL executions ({made})",
            self.name,
            bytes as f64 / 1e6
        );
    }

    /// Brings the file into the page cache.
    pub(crate) fn warm(&self) -> Result<()> {
        std::io::copy(&mut File::open(&self.path)?, &mut std::io::sink())?;
        Ok(())
    }
}

/// Makes what is missing.
pub(crate) struct Maker {
    cache: PathBuf,
    venv: PathBuf,
    spark_seconds: u64,
}

impl Maker {
    pub(crate) fn new(cache: &Path, spark_seconds: u64) -> Result<Maker> {
        std::fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let venv = run::cache()?.join(format!("venv-{SPARK}"));
        Ok(Maker { cache: cache.canonicalize()?, venv, spark_seconds })
    }

    /// The directory of Spark, installed if need be.
    pub(crate) fn spark_home(&self) -> Result<PathBuf> {
        if self.installed().is_none() {
            println!("installing pyspark {SPARK} into {}", self.venv.display());
            run::run(Command::new("python3").args(["-m", "venv"]).arg(&self.venv))?;
            let pip = ["-m", "pip", "install", "--quiet"];
            run::run(Command::new(self.python()).args(pip).arg(format!("pyspark=={SPARK}")))?;
        }
        self.installed().with_context(|| format!("no pyspark in {}", self.venv.display()))
    }

    fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    fn installed(&self) -> Option<PathBuf> {
        let versions = std::fs::read_dir(self.venv.join("lib")).ok()?;
        let homes = versions.flatten().map(|version| version.path().join("site-packages/pyspark"));
        homes.into_iter().find(|home| home.join("bin/spark-class").is_file())
    }

    /// The log of many tasks, plain and packed.
    pub(crate) fn tasks(&self) -> Result<[Log; 2]> {
        let seconds = self.spark_seconds.to_string();
        let real = ["tasks", "--tasks", TASKS, "--seconds", &seconds];
        let (plain, application, counts) = self.multiplied("tasks-plain", &real, ["--tasks", TASKS])?;
        let packed = self.cache.join("tasks-zstd").join(format!("{application}.zstd"));
        if !packed.exists() {
            println!("packing {}", packed.display());
            pack(&plain, &packed)?;
        }
        let goal_bytes = 40_000_000 + 60 * counts.tasks;
        let log = |name, path, goal_gb_s| {
            let application = application.clone();
            Log { name, path, application, counts, for_server: true, goal_gb_s, goal_bytes }
        };
        Ok([log("plain", plain, 2.0), log("zstd", packed, 1.4)])
    }

    /// The log of large plans.
    pub(crate) fn plans(&self) -> Result<Log> {
        let real = ["plans", "--branches", BRANCHES];
        let (path, application, counts) = self.multiplied("plans", &real, ["--executions", EXECUTIONS])?;
        let goal_bytes = 150_000_000;
        Ok(Log { name: "plans", path, application, counts, for_server: false, goal_gb_s: 1.2, goal_bytes })
    }

    fn multiplied(&self, name: &str, real: &[&str], times: [&str; 2]) -> Result<(PathBuf, String, Counts)> {
        let counts = self.cache.join(format!("{name}.json"));
        if !counts.exists() {
            let real = self.real(real)?;
            let folder = self.cache.join(name);
            std::fs::create_dir_all(&folder)?;
            let out = folder.join(real.file_name().context("the log has no name")?);
            println!("multiplying {}", real.display());
            let told = output(script("bench/multiply.py").arg(&real).arg(&out).args(times))?;
            std::fs::write(&counts, told)?;
        }
        let log = only_file(&self.cache.join(name))?;
        let application = log.file_name().context("the log has no name")?.to_string_lossy().into_owned();
        let counts = serde_json::from_slice(&std::fs::read(&counts)?).context("counts of the log")?;
        Ok((log, application, counts))
    }

    /// A log that real Spark wrote.
    fn real(&self, arguments: &[&str]) -> Result<PathBuf> {
        let (what, rest) = arguments.split_first().context("nothing to make")?;
        let folder = self.cache.join("real").join(what);
        if let Ok(log) = only_file(&folder)
            && log.extension().is_none()
        {
            return Ok(log);
        }
        println!("running Spark for {}", folder.display());
        // What an interrupted attempt left would be a second log.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let home = self.spark_home()?;
        let script = run::root().join("bench/make_log.py");
        let mut command = Command::new(self.python());
        command
            .arg(script)
            .arg(what)
            .arg(&folder)
            .args(rest)
            .env("SPARK_HOME", home)
            .env("SPARK_LOCAL_IP", "127.0.0.1");
        run::run(&mut command)?;
        only_file(&folder)
    }
}

/// The one file of a directory, hidden ones (checksums) aside.
fn only_file(folder: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file.path()),
        _ => bail!("{} should hold one log", folder.display()),
    }
}

/// Events after which Spark does not flush, and so does not end a zstd frame
/// (`EventLoggingListener`: `logEvent` without `flushLogger`).
const UNFLUSHED: [&str; 4] = [
    "SparkListenerStageSubmitted",
    "SparkListenerTaskStart",
    "SparkListenerTaskGettingResult",
    "SparkListenerTaskEnd",
];

/// Packs a log as Spark would: level 1, and a frame for each flush.
fn pack(plain: &Path, packed: &Path) -> Result<()> {
    std::fs::create_dir_all(packed.parent().context("no directory")?)?;
    let partial = packed.with_file_name(".partial");
    let mut lines = BufReader::with_capacity(1 << 20, File::open(plain)?);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
    let mut frame = zstd::bulk::Compressor::new(1)?;
    let (mut pending, mut start) = (Vec::new(), 0);
    loop {
        let read = lines.read_until(b'\n', &mut pending)?;
        let flushed = UNFLUSHED.iter().all(|name| !is_event(&pending[start..], name));
        start = pending.len();
        if read == 0 || flushed {
            out.write_all(&frame.compress(&pending)?)?;
            pending.clear();
            start = 0;
        }
        if read == 0 {
            break;
        }
    }
    out.into_inner().context("writing the packed log")?.sync_all()?;
    std::fs::rename(partial, packed)?;
    Ok(())
}

fn is_event(line: &[u8], name: &str) -> bool {
    let name = format!("{{\"Event\":\"{name}\"");
    line.starts_with(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_log_has_a_frame_for_each_flush_and_the_same_text() {
        let place = tempfile::tempdir().unwrap();
        let (plain, packed) = (place.path().join("a"), place.path().join("packed/a.zstd"));
        let text = "{\"Event\":\"SparkListenerTaskEnd\"}\n{\"Event\":\"SparkListenerJobEnd\"}\n\
                    {\"Event\":\"SparkListenerTaskStart\"}\n";
        std::fs::write(&plain, text).unwrap();
        pack(&plain, &packed).unwrap();
        let bytes = std::fs::read(&packed).unwrap();
        assert_eq!(zstd::decode_all(&bytes[..]).unwrap(), text.as_bytes());
        let magic = [0x28, 0xb5, 0x2f, 0xfd];
        assert_eq!(bytes.windows(4).filter(|window| *window == magic).count(), 2);
    }
}
