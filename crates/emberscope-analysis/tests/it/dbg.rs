use crate::made::{read_path, said};
use emberscope_analysis::detectors::DETECTORS;
use emberscope_analysis::diagnosis::{Options, diagnose};
#[test]
fn dbg() {
    let names = std::env::var("ONLY").unwrap_or_default();
    let mut tags: Vec<&str> = DETECTORS.iter().map(|d| d.tag).collect();
    tags.dedup();
    for name in names.split(',').filter(|n| !n.is_empty()) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../validation/logs")
            .join(format!("{name}.zst"));
        let run = read_path(&path);
        println!("##### {name} wall {:?}", run.application.duration_ms());
        for tag in &tags {
            let sink = said(&run, tag);
            for c in sink.claims() {
                println!(
                    "  claim {} {:?} {} core {:?} sev {:?} worth {}",
                    c.kind,
                    c.variant,
                    c.title,
                    c.core_ms,
                    c.severity,
                    format!("{:?}", c.worth).chars().take(160).collect::<String>()
                );
            }
        }
        let d = diagnose(&run, &Options::default());
        for f in &d.findings {
            println!(
                "  FIND {:?} {} {} {:?} part {:?}",
                f.severity, f.kind, f.title, f.savings.wall_ms, f.part_of
            );
        }
        for n in &d.not_checked {
            println!("  not checked {} {}", n.kind, n.reason);
        }
        println!(
            "  wall {:?}",
            d.attribution
                .wall
                .parts()
                .iter()
                .map(|(p, m)| format!("{} {m}", p.def().key))
                .collect::<Vec<_>>()
        );
    }
}
