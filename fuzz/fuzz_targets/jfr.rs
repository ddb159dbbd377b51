#![no_main]

use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Request, fold};
use emberscope_jfr::inspect::{inspect, threads};
use emberscope_jfr::open::open_input;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::view::{View, ViewLimits};
use emberscope_log::input::Memory;
use std::sync::Arc;

// A recording of any bytes: no panic, and sums that are exact.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(recordings) = open_input(Arc::new(Memory::new("fuzz", data)), "fuzz") else { return };
    for event in FlameEvent::ALL {
        let profile = fold(&recordings, &Request::all(*event), &TaskTable::default()).expect("memory can be read");
        let view = View::of(&profile, ViewLimits::default());
        assert_eq!(view.nodes.iter().map(|node| node.own).sum::<i64>(), profile.tree.sum());
    }
    inspect(&recordings, &Selection::default()).expect("memory can be read");
    threads(&recordings, &Selection::default()).expect("memory can be read");
});
