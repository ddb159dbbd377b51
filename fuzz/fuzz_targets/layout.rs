#![no_main]

use std::collections::HashSet;

use emberscope_log::layout::{Entry, log_name, recognise};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let mut seen = HashSet::new();
    let entries: Vec<Entry> = data
        .lines()
        .filter(|path| seen.insert(*path))
        .map(|path| Entry { path: path.to_owned(), len: Some((path.len() % 3) as u64) })
        .collect();
    for entry in &entries {
        let _ = log_name(&entry.path);
    }
    let layout = recognise(&entries);
    // Nothing is read twice, and nothing is both read and set aside.
    let mut used = HashSet::new();
    for index in layout.groups.iter().flat_map(|group| &group.members) {
        assert!(used.insert(*index));
    }
    for aside in &layout.aside {
        assert!(used.insert(aside.entry));
    }
    // Whatever is left is an appstatus file.
    for (index, entry) in entries.iter().enumerate() {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        assert!(used.contains(&index) || name.starts_with("appstatus_"), "{name} got no verdict");
    }
});
