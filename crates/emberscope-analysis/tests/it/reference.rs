//! The committed reference is what the definitions say.
//!
//! `EMBERSCOPE_UPDATE=1` writes the pages anew.

use emberscope_analysis::reference::{DIRECTORY, index, pages};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn the_reference_is_fresh() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DIRECTORY);
    let mut wanted: BTreeMap<String, String> =
        pages().into_iter().map(|page| (format!("{}.md", page.tag), page.markdown)).collect();
    wanted.insert("README.md".to_owned(), index());
    if std::env::var_os("EMBERSCOPE_UPDATE").is_some() {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in &wanted {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }
    let committed: BTreeMap<String, String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&wanted), "run with EMBERSCOPE_UPDATE=1");
    for (name, text) in &wanted {
        assert!(committed[name] == *text, "{DIRECTORY}/{name} is stale: run with EMBERSCOPE_UPDATE=1");
    }
}
