//! `emberscope man`: manual pages, made from the same definitions as `--help`.

use crate::cli;
use crate::exit::Exit;
use crate::messages;
use crate::output::Output;
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use std::io::Write;
use std::path::Path;

/// Runs the command: the main page to standard output, or all pages into a directory.
pub(crate) fn run(dir: Option<&Path>) -> anyhow::Result<Exit> {
    // There is no page for `help`, which says nothing that the other pages do not.
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    match dir {
        None => Output::Stdout.write(&String::from_utf8(page(&command)?)?)?,
        Some(dir) => write_all(&command, dir)?,
    }
    Ok(Exit::Done)
}

fn write_all(command: &Command, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    let commands = std::iter::once(command).chain(command.get_subcommands().filter(|sub| !sub.is_hide_set()));
    for command in commands {
        let path = dir.join(Man::new(command.clone()).get_filename());
        std::fs::write(&path, page(command)?)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        messages::note(&format!("wrote {}", path.display()), None);
    }
    Ok(())
}

/// A page, section by section: the text after the options, which is laid out by hand, would be filled like
/// prose otherwise.
fn page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let version = concat!("emberscope ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        verbatim(&text.to_string(), &mut page)?;
    }
    Ok(page)
}

/// Writes text as it is laid out. A block under `Title:` becomes a section, any other one of notes.
fn verbatim(text: &str, page: &mut Vec<u8>) -> anyhow::Result<()> {
    for block in text.split("\n\n") {
        let (title, body) = match block.split_once('\n') {
            Some((title, body)) if title.ends_with(':') => (title.trim_end_matches(':').to_uppercase(), body),
            _ => ("NOTES".to_owned(), block),
        };
        writeln!(page, ".SH \"{title}\"\n.nf")?;
        for line in body.lines() {
            writeln!(page, "{}", escaped(line))?;
        }
        writeln!(page, ".fi")?;
    }
    Ok(())
}

/// A line that roff takes literally.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('`', "\\(ga").replace('\'', "\\(aq");
    // A dot in front would be a request.
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_literal() {
        assert_eq!(escaped(".x 'a' --out \\"), "\\&.x \\(aqa\\(aq \\-\\-out \\e");
    }

    #[test]
    fn blocks_become_sections() {
        let mut page = Vec::new();
        verbatim("Examples:\n  one\n  two\n\nA word.", &mut page).unwrap();
        let expected = ".SH \"EXAMPLES\"\n.nf\n  one\n  two\n.fi\n.SH \"NOTES\"\n.nf\nA word.\n.fi\n";
        assert_eq!(String::from_utf8(page).unwrap(), expected);
    }
}
