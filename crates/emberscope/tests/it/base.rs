//! A log of ten lines whose every number is known, and the variations of it that tests need.

/// The lines of the log: one executor with two cores, one job, one stage, one task.
pub(crate) fn lines() -> Vec<String> {
    let task_info = |finish: u64| {
        format!(
            concat!(
                r#""Task Info":{{"Task ID":0,"Index":0,"Attempt":0,"Partition ID":0,"Launch Time":2100,"#,
                r#""Executor ID":"1","Host":"h1","Locality":"PROCESS_LOCAL","Speculative":false,"#,
                r#""Getting Result Time":0,"Finish Time":{},"Failed":false,"Killed":false,"Accumulables":[]}}"#
            ),
            finish
        )
    };
    let stage = |extra: &str| {
        format!(
            concat!(
                r#"{{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count at A.scala:1","Number of Tasks":1,"#,
                r#""RDD Info":[],"Parent IDs":[],"Details":"","Submission Time":2000{},"Accumulables":[]}}"#
            ),
            extra
        )
    };
    let metrics = concat!(
        r#"{"Executor Deserialize Time":50,"Executor Deserialize CPU Time":40000000,"Executor Run Time":900,"#,
        r#""Executor CPU Time":800000000,"Peak Execution Memory":0,"Result Size":100,"JVM GC Time":10,"#,
        r#""Result Serialization Time":5,"Memory Bytes Spilled":0,"Disk Bytes Spilled":0,"#,
        r#""Shuffle Read Metrics":{"Remote Blocks Fetched":0,"Local Blocks Fetched":0,"Fetch Wait Time":0,"#,
        r#""Remote Bytes Read":0,"Remote Bytes Read To Disk":0,"Local Bytes Read":0,"Total Records Read":0},"#,
        r#""Shuffle Write Metrics":{"Shuffle Bytes Written":400,"Shuffle Write Time":2500000,"#,
        r#""Shuffle Records Written":10},"Input Metrics":{"Bytes Read":1000,"Records Read":10},"#,
        r#""Output Metrics":{"Bytes Written":0,"Records Written":0},"Updated Blocks":[]}"#
    );
    vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"base","App ID":"app-1","Timestamp":1000,"User":"ember"}"#.to_owned(),
        r#"{"Event":"SparkListenerExecutorAdded","Timestamp":1000,"Executor ID":"1","Executor Info":{"Host":"h1","Total Cores":2,"Log Urls":{}}}"#.to_owned(),
        format!(r#"{{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":2000,"Stage Infos":[{}],"Stage IDs":[0],"Properties":{{}}}}"#, stage("")),
        format!(r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{},"Properties":{{}}}}"#, stage("")),
        format!(r#"{{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,{}}}"#, task_info(0)),
        format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{{"Reason":"Success"}},{},"Task Metrics":{metrics}}}"#,
            task_info(3100)
        ),
        format!(r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{}}}"#, stage(r#","Completion Time":3200"#)),
        r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":3300,"Job Result":{"Result":"JobSucceeded"}}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationEnd","Timestamp":4000}"#.to_owned(),
    ]
}

/// The whole log.
pub(crate) fn log() -> String {
    lines().join("\n") + "\n"
}

/// The log without its application's end, which is cut after 40 bytes.
pub(crate) fn cut_log() -> String {
    let mut lines = lines();
    lines[9].truncate(40);
    lines.join("\n")
}

/// The log with its stage's completion broken.
pub(crate) fn broken_log() -> String {
    let mut lines = lines();
    lines[7].truncate(30);
    lines.join("\n") + "\n"
}

/// The log of an attempt that failed its only task twice before it succeeded.
pub(crate) fn retried_log() -> String {
    let mut lines = lines();
    let failed = |id: u32, launch: &str, finish: &str| {
        let end = lines[6]
            .replace(r#""Task ID":0"#, &format!(r#""Task ID":{id}"#))
            .replace(r#"{"Reason":"Success"}"#, r#"{"Reason":"ExecutorLostFailure","Executor ID":"1","Exit Caused By App":true,"Loss Reason":"lost"}"#)
            .replace(r#""Failed":false"#, r#""Failed":true"#)
            .replace(r#""Launch Time":2100"#, &format!(r#""Launch Time":{launch}"#))
            .replace(r#""Finish Time":3100"#, &format!(r#""Finish Time":{finish}"#));
        end[..end.find(r#","Task Metrics""#).expect("metrics")].to_owned() + "}"
    };
    let ends = [failed(1, "2010", "2040"), failed(2, "2050", "2090")];
    lines.splice(6..6, ends);
    lines.join("\n") + "\n"
}
