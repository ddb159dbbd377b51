//! `emberscope man`: manual pages, made from the same definitions as `--help`.

use crate::cli;
use crate::exit::Exit;
use crate::output::Output;
use anyhow::Context;
use std::path::Path;

/// Runs the command: the main page to standard output, or all pages into a directory.
pub(crate) fn run(dir: Option<&Path>) -> anyhow::Result<Exit> {
    let command = cli::command();
    match dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            Output::Stdout.write(&String::from_utf8(page)?)?;
        }
        Some(dir) => {
            let cannot = || format!("{}: cannot be written", dir.display());
            std::fs::create_dir_all(dir).with_context(cannot)?;
            clap_mangen::generate_to(command, dir).with_context(cannot)?;
        }
    }
    Ok(Exit::Done)
}
