//! Lines of a plan, out of whatever was printed around them.

/// Splits into lines, without the frames of tables that `beeline` and `show()` draw.
pub(super) fn of(text: &str) -> Vec<&str> {
    text.lines().map(|line| unframed(line.trim_end_matches('\r'))).collect()
}

fn unframed(line: &str) -> &str {
    let trimmed = line.trim_end();
    let is_border = trimmed.len() > 2 && trimmed.bytes().all(|byte| matches!(byte, b'+' | b'-'));
    if is_border && trimmed.ends_with('+') {
        return "";
    }
    match trimmed.strip_prefix('|') {
        // A cell of a table: the plan's own lines never begin with a bar.
        Some(cell) => {
            let cell = cell.strip_suffix('|').map_or(cell, str::trim_end);
            let spaced = cell.strip_prefix(' ').unwrap_or(cell);
            // beeline puts a space before the text, show() none.
            if spaced.starts_with("==") || spaced.starts_with("=====") { spaced } else { cell }
        }
        None => trimmed.strip_suffix('|').map_or(trimmed, str::trim_end),
    }
}

/// How deep a line of a tree is, whether it opens a branch, and what it says.
pub(super) fn depth(line: &str) -> (usize, &str) {
    let mut rest = line;
    let mut depth = 0;
    loop {
        let next = ["   ", ":  ", ":- ", "+- "].iter().find_map(|branch| rest.strip_prefix(branch));
        match next {
            Some(after) => {
                rest = after;
                depth += 1;
            }
            None => return (depth, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_and_branches_count() {
        let table = "+----+\n|plan|\n+----+\n|== Physical Plan ==\n* Range (1)\n\n|\n+----+\n";
        assert_eq!(of(table)[3..5], ["== Physical Plan ==", "* Range (1)"]);
        assert_eq!(depth("   :  +- * Project (3)"), (3, "* Project (3)"));
        assert_eq!(depth("+- == Final Plan =="), (1, "== Final Plan =="));
    }
}
