//! Running other programs, and where things are.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The project's directory for what is made once and kept.
pub(crate) fn cache() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    Ok(cache.or_else(home).context("neither XDG_CACHE_HOME nor HOME is set")?.join("emberscope"))
}

/// Runs a command to its end; an unsuccessful one is an error that names it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{}: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let out = command.stderr(std::process::Stdio::inherit()).output();
    let out = out.with_context(|| format!("cannot start {}", shown(command)))?;
    if !out.status.success() {
        bail!("{}: {}", shown(command), out.status);
    }
    String::from_utf8(out.stdout).with_context(|| format!("what {} printed", shown(command)))
}

/// A Python script of the repository, run from its root.
pub(crate) fn script(path: &str) -> Command {
    let mut command = Command::new("python3");
    command.current_dir(root()).arg(path);
    command
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
