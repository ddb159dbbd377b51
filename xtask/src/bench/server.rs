//! Spark's History Server, from its start to its first answer about a log.
//!
//! It runs with its defaults (it then forgets early stages and tasks, which is in its favour) but for
//! 4 GB of heap, since the default of 1 GB is not enough for these logs.

use super::logs::Log;
use super::usage::{self, Usage};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HEAP: &str = "4g";
const PATIENCE: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(50);

/// Starts a server over the log's directory, asks for the stages until it answers, and ends it.
pub(crate) fn measure(log: &Log, spark_home: &Path) -> Result<Usage> {
    let place = tempfile::tempdir().context("a place for the server's settings")?;
    let port = free_port()?;
    let folder = log.path.parent().context("the log has no directory")?;
    let conf = place.path().join("history.conf");
    std::fs::write(
        &conf,
        format!("spark.history.fs.logDirectory file://{}\nspark.history.ui.port {port}\n", folder.display()),
    )?;
    let output = File::create(place.path().join("server.log"))?;
    let mut command = Command::new(spark_home.join("bin/spark-class"));
    command
        .arg("org.apache.spark.deploy.history.HistoryServer")
        .arg("--properties-file")
        .arg(&conf)
        .env("SPARK_HOME", spark_home)
        .env("SPARK_CONF_DIR", place.path())
        .env("SPARK_DAEMON_MEMORY", HEAP)
        .env("SPARK_LOCAL_IP", "127.0.0.1")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let started = Instant::now();
    // `spark-class` replaces itself by the JVM, so the child is the server.
    let mut child = command.spawn().context("cannot start the History Server")?;
    let answered = wait_for_answer(port, &log.application, started);
    // Its store is in memory: there is nothing to lose.
    child.kill().context("ending the History Server")?;
    let (usage, _) = usage::finish(&mut child, started, answered)?;
    if answered.is_none() {
        let said = std::fs::read_to_string(place.path().join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        bail!(
            "no answer from the History Server, which said:\n{}",
            lines[lines.len().saturating_sub(15)..].join("\n")
        );
    }
    Ok(usage)
}

fn free_port() -> Result<u16> {
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(probe.local_addr()?.port())
}

/// When the server answered, or nothing if it has not done so for a long time.
fn wait_for_answer(port: u16, application: &str, started: Instant) -> Option<Duration> {
    let path = format!("/api/v1/applications/{application}/stages");
    while started.elapsed() < PATIENCE {
        if get(port, &path).is_ok_and(|body| body.contains("\"stageId\"")) {
            return Some(started.elapsed());
        }
        std::thread::sleep(POLL);
    }
    None
}

/// The body of a successful answer. The first request for an application makes the server replay its
/// log, and blocks until that is done.
fn get(port: u16, path: &str) -> Result<String> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let mut stream = TcpStream::connect_timeout(&address.into(), Duration::from_secs(5))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n")?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply)?;
    let reply = String::from_utf8_lossy(&reply);
    let (head, body) = reply.split_once("\r\n\r\n").context("no HTTP answer")?;
    if head.split(' ').nth(1) != Some("200") {
        bail!("{}", head.lines().next().unwrap_or_default());
    }
    Ok(body.to_owned())
}
