//! The fast road does not allocate per line. A binary of its own, since it counts every allocation of
//! the process.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use emberscope_log::block::{Block, ParseOptions, parse_block};

/// Task starts and ends as Spark 4.3 writes them, a few kilobytes each.
fn lines(tasks: usize) -> Vec<u8> {
    let accumulables: Vec<String> = (0..40)
        .map(|id| {
            let name = if id % 2 == 0 { "internal.metrics.executorRunTime" } else { "number of output rows" };
            format!(
                r#"{{"ID":{id},"Name":"{name}","Update":"12{id}","Value":"99{id}","Internal":true,"Count Failed Values":true}}"#
            )
        })
        .collect();
    let accumulables = accumulables.join(",");
    let mut text = String::new();
    for task in 0..tasks {
        let info = format!(
            r#"{{"Task ID":{task},"Index":{task},"Attempt":0,"Partition ID":{task},"Launch Time":1700000000{:03},"Executor ID":"7","Host":"host-7","Locality":"ANY","Speculative":false,"Getting Result Time":0,"Finish Time":1700000001000,"Failed":false,"Killed":false,"Accumulables":[{accumulables}]}}"#,
            task % 1000
        );
        text.push_str(&format!(
            "{{\"Event\":\"SparkListenerTaskStart\",\"Stage ID\":1,\"Stage Attempt ID\":0,\"Task Info\":{info}}}\n"
        ));
        text.push_str(&format!(
            "{{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":1,\"Stage Attempt ID\":0,\"Task Type\":\"ResultTask\",\"Task End Reason\":{{\"Reason\":\"Success\"}},\"Task Info\":{info},\"Task Executor Metrics\":{{\"JVMHeapMemory\":1,\"TotalGCTime\":2}},\"Task Metrics\":{{\"Executor Deserialize Time\":1,\"Executor Run Time\":{task},\"JVM GC Time\":0,\"Shuffle Read Metrics\":{{\"Remote Blocks Fetched\":1}},\"Input Metrics\":{{\"Bytes Read\":5,\"Records Read\":6}},\"Updated Blocks\":[]}}}}\n"
        ));
    }
    text.into_bytes()
}

#[test]
fn a_line_costs_no_allocation() {
    let tasks = 500;
    let buffer = lines(tasks);
    let block = Block {
        seq: 0,
        member: 0,
        len: buffer.len(),
        buffer,
        member_end: None,
        elided_lines: 0,
        is_overlong: false,
    };
    let mut events = 0;
    let counted = allocation_counter::measure(|| {
        let parsed = parse_block(&block, ParseOptions::default());
        assert_eq!((parsed.task_ends.len(), parsed.bad_line_count), (tasks, 0));
        assert_eq!(parsed.sink.accumulators.len(), tasks * 20);
        events = parsed.events;
    });
    // The block's own vectors grow a few times; nothing else is allowed.
    assert!(counted.count_total < 100, "{} allocations for {events} events", counted.count_total);
}
