//! Folded stacks: `root;...;leaf weight`, a line each.

use crate::view::View;
use std::io::{self, Write};

/// Writes a line for each stack that has weight; of a comparison two weights, the baseline's first, as tools
/// for differences of folded stacks take them.
///
/// # Errors
/// Those of `out`.
pub fn folded(view: &View, out: &mut dyn Write) -> io::Result<()> {
    // Where each node of the path ends in the line.
    let mut ends: Vec<usize> = Vec::new();
    let mut line = String::new();
    for node in &view.nodes {
        let depth = node.depth as usize;
        if depth == 0 {
            // Weight without any frame: no line could carry it but one of its own.
            if node.own > 0 || node.baseline_own > 0 {
                write_weights(view.is_diff, "all", (node.own, node.baseline_own), out)?;
            }
            continue;
        }
        ends.truncate(depth - 1);
        line.truncate(ends.last().copied().unwrap_or(0));
        if depth > 1 {
            line.push(';');
        }
        line.extend(view.name(node).chars().map(|c| match c {
            ';' => ':',
            c if c.is_control() => ' ',
            c => c,
        }));
        ends.push(line.len());
        if node.own > 0 || node.baseline_own > 0 {
            write_weights(view.is_diff, &line, (node.own, node.baseline_own), out)?;
        }
    }
    Ok(())
}

fn write_weights(
    is_diff: bool,
    line: &str,
    (own, baseline): (i64, i64),
    out: &mut dyn Write,
) -> io::Result<()> {
    match is_diff {
        true => writeln!(out, "{line} {baseline} {own}"),
        false => writeln!(out, "{line} {own}"),
    }
}
