//! Runs the binary in a directory of its own.

use std::path::Path;
use std::process::{Command, Output};

/// A directory with files, in which commands run.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    /// A directory with these files.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Dir {
        let dir = Dir(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        dir
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that knows nothing of the terminal the tests run in.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emberscope"));
        command.current_dir(self.path()).args(args).env("COLUMNS", "80").stdin(std::process::Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Exit code and both outputs, for a snapshot.
    pub(crate) fn show(&self, args: &[&str]) -> String {
        show(&self.run(args))
    }
}

/// Exit code and both outputs.
pub(crate) fn show(output: &Output) -> String {
    let code = output.status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!(
        "exit code: {code}\n----- stdout -----\n{}----- stderr -----\n{}",
        text(&output.stdout),
        text(&output.stderr)
    )
}
