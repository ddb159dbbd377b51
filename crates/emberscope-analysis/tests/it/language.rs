//! What a diagnosis says is English: number, articles, no word twice, no gap.

use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::phrases;

/// Nouns that are counted in texts, as they are for several.
const PLURALS: &[&str] = &[
    "attempts",
    "batches",
    "checks",
    "containers",
    "cores",
    "executors",
    "executions",
    "files",
    "fixes",
    "gaps",
    "hosts",
    "jobs",
    "joins",
    "keys",
    "messages",
    "operators",
    "others",
    "partitions",
    "places",
    "queries",
    "records",
    "rows",
    "slots",
    "splits",
    "stages",
    "tables",
    "tasks",
    "times",
];

/// What is wrong with the words of a diagnosis.
pub(crate) fn faults(diagnosis: &Diagnosis) -> Vec<String> {
    let mut faults = Vec::new();
    for text in texts(diagnosis) {
        faults.extend(wrong(&text).map(|what| format!("{what}: {text}")));
    }
    faults
}

/// All sentences of a diagnosis that are its own, not the log's.
fn texts(diagnosis: &Diagnosis) -> Vec<String> {
    let verdict = &diagnosis.verdict;
    let mut texts = vec![verdict.headline.clone()];
    texts.extend(verdict.notes.iter().cloned());
    texts.extend(verdict.actions.iter().map(|action| action.text.clone()));
    texts.extend(phrases::all_fixes(diagnosis));
    texts.extend(diagnosis.not_checked.iter().map(|entry| entry.reason.clone()));
    for finding in &diagnosis.findings {
        texts.extend([finding.title.clone(), finding.recommendation.text.clone(), finding.validate.clone()]);
        texts.extend(finding.recommendation.changes.iter().map(phrases::change));
    }
    // What failed quotes the program's own messages.
    let quotes: Vec<&str> = diagnosis
        .findings
        .iter()
        .filter(|finding| matches!(finding.tag, "FAIL" | "SFAIL" | "JOBS" | "RETRY"))
        .flat_map(|finding| [finding.title.as_str(), finding.recommendation.text.as_str()])
        .collect();
    texts.retain(|text| !quotes.iter().any(|quote| text.contains(quote)));
    texts
}

fn wrong(text: &str) -> Option<&'static str> {
    if text.contains("  ")
        || text.contains(" ,")
        || text.contains(" .")
        || text.contains("..") && !text.contains("...")
    {
        return Some("spaces and stops");
    }
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(2).find_map(|pair| {
        let next = pair[1].trim_matches(|c: char| !c.is_alphanumeric());
        let is_word = next.len() > 1 && next.chars().all(char::is_alphabetic);
        match pair[0].trim_start_matches('(') {
            "1" if PLURALS.contains(&next) => Some("one of several"),
            "0" if PLURALS.contains(&next) => Some("none of them, counted"),
            "a" if next.starts_with(['a', 'e', 'i', 'o']) && next != "one" => Some("a for an"),
            "an" if next.starts_with(|c: char| "bcdfgjkpqtvwyz".contains(c)) => Some("an for a"),
            word if is_word && word == pair[1] => Some("a word twice"),
            _ => None,
        }
    })
}

#[test]
fn what_is_no_english_is_noticed() {
    for text in ["1 tasks ran", "0 stages ran", "a executor", "an task", "the the", "two  spaces", "end ."] {
        assert!(wrong(text).is_some(), "{text}");
    }
    for text in
        ["1 task ran", "11 tasks ran", "an executor", "a one", "2.1 tasks", "of 1 of 3 tasks", "and so on"]
    {
        assert_eq!(wrong(text), None, "{text}");
    }
}
