//! What a cluster's log tells of devices and of processes that run no tasks.

use crate::base::{get, server};
use serde_json::json;

const LOG: &str = r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}
{"Event":"SparkListenerResourceProfileAdded","Resource Profile Id":0,"Executor Resource Requests":{"gpu":{"Resource Name":"gpu","Amount":1,"Discovery Script":"./find.sh","Vendor":"maker"}},"Task Resource Requests":{"gpu":{"Resource Name":"gpu","Amount":0.25}}}
{"Event":"SparkListenerApplicationStart","App Name":"devices","App ID":"app-1","Timestamp":1700000000000,"User":"u"}
{"Event":"SparkListenerExecutorAdded","Timestamp":1700000001000,"Executor ID":"1","Executor Info":{"Host":"worker","Total Cores":4,"Log Urls":{},"Resources":{"gpu":{"name":"gpu","addresses":["0","2"]}},"Resource Profile Id":0}}
{"Event":"SparkListenerBlockManagerAdded","Block Manager ID":{"Executor ID":"1","Host":"10.0.0.7","Port":7337},"Maximum Memory":1000,"Timestamp":1700000001100}
{"Event":"org.apache.spark.scheduler.SparkListenerMiscellaneousProcessAdded","time":1700000001200,"processId":"yarn-am","info":{"hostPort":"node:8042","cores":1,"logUrlInfo":{"stdout":"http://node:8042/stdout"}}}
{"Event":"SparkListenerApplicationEnd","Timestamp":1700000009000}
"#;

#[test]
fn devices_and_other_processes() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("app-1");
    std::fs::write(&log, LOG).unwrap();
    let server = server(&[&log]);
    let ask = |path: &str| get(&server, &format!("/api/v1/applications/app-1/{path}")).json();
    let executor =
        ask("allexecutors").as_array().unwrap().iter().find(|one| one["id"] == "1").unwrap().clone();
    assert_eq!(executor["resources"], json!({"gpu": {"name": "gpu", "addresses": ["0", "2"]}}));
    // The block manager's address, which need not be the executor's name.
    assert_eq!(executor["hostPort"], "10.0.0.7:7337");
    let profile = &ask("environment")["resourceProfiles"][0];
    let gpu = &profile["executorResources"]["gpu"];
    assert_eq!((&gpu["discoveryScript"], &gpu["vendor"]), (&json!("./find.sh"), &json!("maker")));
    assert_eq!(
        ask("allmiscellaneousprocess"),
        json!([{
            "id": "yarn-am", "hostPort": "node:8042", "isActive": true, "totalCores": 1,
            "addTime": "2023-11-14T22:13:21.200GMT", "processLogs": {"stdout": "http://node:8042/stdout"},
        }])
    );
}
