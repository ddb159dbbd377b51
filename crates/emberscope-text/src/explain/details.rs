//! The blocks below a formatted plan: one for each operator, then the subqueries.

use super::{Details, lines};

/// What a block says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Detail {
    /// Name of the operator.
    pub(super) name: String,
    /// `codegen id`.
    pub(super) codegen: Option<u32>,
    /// Labels and values.
    pub(super) fields: Vec<(String, String)>,
}

/// A subquery's tree and the operator whose expression it is in.
pub(super) struct Subquery<'t> {
    pub(super) host: u32,
    pub(super) expression: &'t str,
    pub(super) lines: Vec<&'t str>,
}

/// Whether a line begins the block of an operator: `(15) BroadcastHashJoin [codegen id : 3]`.
pub(super) fn is_head(line: &str) -> bool {
    head(line).is_some()
}

fn head(line: &str) -> Option<(u32, &str)> {
    let (id, rest) = line.strip_prefix('(')?.split_once(") ")?;
    Some((id.parse().ok()?, rest))
}

/// All blocks.
pub(super) fn of(lines: &[&str]) -> Details {
    let mut details = Details::new();
    let mut current: Option<(u32, Detail)> = None;
    for line in lines {
        if let Some((id, rest)) = head(line) {
            details.extend(current.take());
            let (name, codegen) = match rest.split_once("[codegen id : ") {
                // Only one space is the text's own: names of scans end with one.
                Some((name, id)) => {
                    (name.strip_suffix(' ').unwrap_or(name), id.trim_end_matches(']').parse().ok())
                }
                None => (rest, None),
            };
            current = Some((id, Detail { name: name.to_owned(), codegen, fields: Vec::new() }));
        } else if line.trim().is_empty() || line.starts_with("=====") {
            details.extend(current.take());
        } else if let Some((_, detail)) = &mut current {
            detail.add(line);
        }
    }
    details.extend(current);
    details
}

impl Detail {
    fn add(&mut self, line: &str) {
        match line.split_once(':') {
            // `Output [2]: [a#1, b#2]`, `Condition : ...`. The number of items says nothing the list does not.
            Some((label, value)) if label.len() < 40 && !label.contains('(') => {
                let label = label.split(" [").next().unwrap_or(label).trim();
                self.fields.push((label.to_owned(), value.trim().to_owned()));
            }
            // A value that holds the end of a line, as string literals may.
            _ => {
                if let Some((_, value)) = self.fields.last_mut() {
                    value.push('\n');
                    value.push_str(line);
                }
            }
        }
    }

    /// The value behind a label.
    pub(super) fn field(&self, label: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str())
    }

    /// Name and arguments on one line, as an event log has them, as far as the block tells.
    pub(super) fn simple_string(&self, shown: &str) -> String {
        let name = self.name.trim_end();
        let of = |label: &str| self.field(label).unwrap_or("[]");
        if let (Some(keys), Some(functions)) = (self.field("Keys"), self.field("Functions")) {
            return format!("{name}(keys={keys}, functions={functions})");
        }
        if self.field("Left keys").is_some() || self.field("Join type").is_some() {
            return self.join(name, shown);
        }
        if let Some(condition) = self.field("Condition") {
            return format!("{name} {condition}");
        }
        if let Some(arguments) = self.field("Arguments") {
            // A range repeats its name.
            let arguments = arguments.strip_prefix(name).map_or(arguments, str::trim_start);
            return format!("{name} {arguments}");
        }
        if name.starts_with("Scan") || name.starts_with("BatchScan") {
            return self.scan(name);
        }
        match name {
            "Project" => format!("{name} {}", of("Output")),
            _ => shown.to_owned(),
        }
    }

    fn join(&self, name: &str, shown: &str) -> String {
        let mut parts = Vec::new();
        let keys = self.field("Left keys").zip(self.field("Right keys"));
        parts.extend(keys.map(|(left, right)| format!("{left}, {right}")));
        // The side and what else the tree's line says after the name: `Inner BuildLeft`.
        let words = shown.strip_prefix(name).unwrap_or_default().split_whitespace();
        parts.extend(words.map(str::to_owned));
        if parts.len() < 2 {
            parts.extend(self.field("Join type").map(str::to_owned));
        }
        let condition = self.field("Join condition").filter(|condition| *condition != "None");
        parts.extend(condition.map(str::to_owned));
        format!("{name} {}", parts.join(", "))
    }

    fn scan(&self, name: &str) -> String {
        let rest: Vec<String> = self
            .fields
            .iter()
            .filter(|(label, _)| !matches!(label.as_str(), "Output" | "Input"))
            .map(|(label, value)| format!("{label}: {value}"))
            .collect();
        let file = if self.field("Location").is_some() { "File" } else { "" };
        let output = self.field("Output").unwrap_or_default();
        format!("{file}{name} {output} {}", rest.join(", ")).trim_end().to_owned()
    }
}

/// The trees below `===== Subqueries =====`.
pub(super) fn subqueries<'t>(lines: &[&'t str]) -> Vec<Subquery<'t>> {
    let mut found: Vec<Subquery<'t>> = Vec::new();
    let mut is_open = false;
    for line in lines {
        if let Some(rest) = line.strip_prefix("Subquery:") {
            let host = rest.split_once("Hosting operator id = ").map(|(_, rest)| rest);
            let host = host.and_then(|rest| rest.split_once(" Hosting Expression = "));
            let Some((id, expression)) = host else { continue };
            let Ok(host) = id.trim().parse() else { continue };
            found.push(Subquery { host, expression, lines: Vec::new() });
            is_open = true;
        } else if line.trim().is_empty() || is_head(line) {
            is_open = false;
        } else if let (true, Some(subquery)) = (is_open, found.last_mut()) {
            subquery.lines.push(line);
        }
    }
    found.retain(|subquery| !subquery.lines.is_empty() && lines::depth(subquery.lines[0]).0 == 0);
    found
}
