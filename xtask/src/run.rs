//! Running other programs, and where things are.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The project's directory for what is made once and kept, as in `.ci/run`.
pub(crate) fn cache() -> Result<PathBuf> {
    let place = |name: &str| std::env::var_os(name).map(PathBuf::from);
    place("EMBERSCOPE_CACHE")
        .or_else(|| Some(place("XDG_CACHE_HOME")?.join("emberscope")))
        .or_else(|| Some(place("HOME")?.join(".cache/emberscope")))
        .context("HOME is not set")
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

/// The program as it is released.
pub(crate) fn release() -> Result<PathBuf> {
    let root = root();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let build = ["build", "--release", "--locked", "--package", "emberscope"];
    run(cargo.current_dir(&root).args(build))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/emberscope"))
}
