//! `emberscope serve`: runs over HTTP.

use crate::cli::ServeOptions;
use crate::exit::{Exit, UsageError};
use crate::format::counted;
use crate::inputs;
use crate::messages;
use emberscope_server::{Ready, ServerError, serve};
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs the command: until the process is asked to stop.
pub(crate) fn run(mut options: ServeOptions) -> anyhow::Result<Exit> {
    for source in std::mem::take(&mut options.reading.sources) {
        match inputs::elsewhere(&options.reading, &source) {
            None => options.server.roots.push(source),
            Some(Ok(found)) => options.server.gathered.extend(found.runs),
            Some(Err((message, hint))) => {
                messages::error(&message, Some(&hint));
                return Ok(Exit::NoInput);
            }
        }
    }
    let browser = options.browser && is_desktop();
    let is_open = options.server.is_open;
    let has_token = options.server.token.as_ref().is_some_and(|token| !token.is_empty());
    match serve(options.server, |ready| tell(ready, has_token, is_open, browser)) {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.is_no_input() => {
            messages::error(&error.to_string(), Some(error.hint()));
            Ok(Exit::NoInput)
        }
        Err(error) if error.is_usage() => Err(UsageError::new(error.to_string(), error.hint()).into()),
        Err(error) => Err(failed(error)),
    }
}

fn failed(error: ServerError) -> anyhow::Error {
    let hint = error.hint();
    anyhow::Error::new(error).context(hint)
}

/// Tells where the server is, and opens it.
fn tell(ready: &Ready, has_token: bool, is_open: bool, browser: bool) {
    let mut lines = vec![format!("Serving {} at {}", counted(ready.logs as u64, "run"), ready.address)];
    if ready.skipped > 0 {
        lines.push(format!("  {} held no event log", counted(ready.skipped as u64, "path")));
    }
    lines.push(format!("  browser  {}", ready.entrance));
    let token = if has_token { "$EMBERSCOPE_TOKEN" } else { &ready.token };
    lines.push(format!("  tools    Authorization: Bearer {token}"));
    let api = if is_open { "without a token" } else { "with the token" };
    lines.push(format!("  Spark    {}/api/v1 {api}", ready.address));
    lines.push("Stop it with Ctrl-C.".to_owned());
    let mut stdout = std::io::stdout().lock();
    // With standard output closed it serves all the same.
    _ = writeln!(stdout, "{}", lines.join("\n"));
    _ = stdout.flush();
    if browser && !opens(&ready.entrance) {
        messages::note("no browser could be opened", Some("open the address above"));
    }
}

/// Whether somebody sits before this machine's screen.
fn is_desktop() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_remote = is_set("SSH_CONNECTION") || is_set("CI");
    let has_screen =
        !cfg!(all(unix, not(target_os = "macos"))) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_screen && !is_remote
}

fn opens(address: &str) -> bool {
    let (program, args): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(args).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
