//! The command line.
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::print_stdout, reason = "output")]
fn main() -> anyhow::Result<()> {
    for path in std::env::args().skip(1) {
        let found = emberscope_log::source::discover(&path)?;
        for skipped in &found.skipped {
            println!("{skipped:?}");
        }
        for source in &found.runs {
            let run = emberscope_model::load::load(
                source,
                ScanOptions::default(),
                ParseOptions::default(),
                &|_| {},
            );
            let summary = emberscope_model::summary::summarize(&run);
            println!("{}", serde_json::to_string(&summary)?);
        }
    }
    Ok(())
}
