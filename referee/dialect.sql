-- Statements about the dialect alone, asked of the tables of one fixture (`referee/sql.py`).

-- Texts
SELECT 'it\'s' AS a, 'it''s' AS b, "say \"so\"" AS c, 'a\\b' AS d, 'a\tb\nc' AS e, '\u0041\103' AS f, LENGTH('\\\'') AS g;
SELECT 'it\'s';
SELECT '50%' LIKE '50\%' AS a, '501' LIKE '50\%' AS b, 'a_b' LIKE 'a\_b' AS c, 'a.b' RLIKE 'a\\.b' AS d, 'axb' RLIKE 'a\\.b' AS e;
SELECT CONCAT('\'', nodes[0].nodeName, '\'') AS a FROM sql ORDER BY sqlId;

-- Fields of anything
SELECT NAMED_STRUCT('a', 1, 'b', 'x').b AS a, NAMED_STRUCT('a', NAMED_STRUCT('b', 2)).a.b AS b;
SELECT ELEMENT_AT(MAP('k', NAMED_STRUCT('z', 3)), 'k').z AS a, FROM_JSON('{"a":1}', 'STRUCT<a: INT>').a AS b;
SELECT sqlId, nodes[0].nodeName AS a, ELEMENT_AT(nodes, 1).nodeName AS b, ELEMENT_AT(nodes, -1).nodeName AS c FROM sql ORDER BY sqlId;
SELECT s.sqlId, SIZE(s.nodes[0].metrics) AS a, s.nodes[1].jobName AS b FROM sql s ORDER BY s.sqlId;
SELECT MAX(NAMED_STRUCT('ms', executorRunTime, 'id', taskId)).id AS a FROM task;

-- Lists
SELECT SORT_ARRAY(ARRAY(3, NULL, 1)) AS a, SORT_ARRAY(ARRAY(3, NULL, 1), true) AS b, SORT_ARRAY(ARRAY(3, NULL, 1), false) AS c, ARRAY_SORT(ARRAY(3, NULL, 1)) AS d;
SELECT stageId, SORT_ARRAY(COLLECT_SET(status), false) AS a, SORT_ARRAY(COLLECT_LIST(attempt)) AS b FROM task GROUP BY stageId ORDER BY stageId;
SELECT SORT_ARRAY(ARRAY('b', 'a', 'C')) AS a, SORT_ARRAY(ARRAY(2.5E0, -1E0)) AS b;

-- JSON
SELECT GET_JSON_OBJECT('{"a": {"b": [1, "x", null]}}', '$.a.b[1]') AS a, GET_JSON_OBJECT('{"a": {"b": [1, "x"]}}', '$.a') AS b, GET_JSON_OBJECT('{"a": 1.5}', '$.a') AS c, GET_JSON_OBJECT('{"a": 1}', '$.b') AS d;
SELECT GET_JSON_OBJECT('{"a": "t\\"u"}', '$.a') AS a, GET_JSON_OBJECT('{"a": true}', '$[\'a\']') AS b, GET_JSON_OBJECT('not json', '$.a') AS c, GET_JSON_OBJECT('{"a": null}', '$.a') AS d;
SELECT GET_JSON_OBJECT('{"a": [{"b": 1}, {"b": 2}]}', '$.a[*].b') AS a, GET_JSON_OBJECT('[1, 2, 3]', '$[2]') AS b, GET_JSON_OBJECT('{"z": 1, "a": {"y": 2, "b": 3}}', '$') AS c, GET_JSON_OBJECT('{"a": 1}', 'a') AS d;
SELECT GET_JSON_OBJECT(TO_JSON(nodes[0]), '$.nodeName') AS a FROM sql ORDER BY sqlId;

-- PIVOT
SELECT * FROM (SELECT stageId, status, executorRunTime FROM task) PIVOT (COUNT(executorRunTime) FOR status IN ('succeeded', 'failed')) ORDER BY stageId;
SELECT * FROM (SELECT stageId, attempt, execCpuNs, numTasks FROM stage) PIVOT (SUM(execCpuNs) AS cpu, MAX(numTasks) AS tasks FOR attempt IN (0 AS first, 1 AS second)) ORDER BY stageId;
SELECT first, second FROM (SELECT attempt, numTasks FROM stage) PIVOT (SUM(numTasks) FOR attempt IN (0 AS first, 1 AS second));

-- Tables
SHOW TABLES LIKE 'st*';
SHOW TABLES LIKE 'job|sql|task';
SHOW COLUMNS IN job;
DESCRIBE sql;
DESC stage;

-- Joins on runs
SELECT COUNT(*) AS a, SUM(t.executorRunTime) AS b FROM stage s JOIN task t ON t.applicationId = s.applicationId AND t.applicationAttempt <=> s.applicationAttempt AND t.stageId = s.stageId AND t.stageAttempt = s.attempt;
SELECT s.stageId, COUNT(t.taskId) AS a FROM stage s LEFT JOIN task t ON t.applicationId = s.applicationId AND t.applicationAttempt <=> s.applicationAttempt AND t.stageId = s.stageId AND t.status = 'failed' GROUP BY s.stageId ORDER BY s.stageId;
SELECT COUNT(*) AS a FROM stage s FULL JOIN job j ON j.applicationId = s.applicationId AND j.applicationAttempt <=> s.applicationAttempt AND j.jobId = s.stageId;
SELECT PERCENTILE(executorRunTime, ARRAY(0, 0.25, 0.5, 0.99, 1)) AS a, PERCENTILE(executorRunTime, 0.333) AS b, MEDIAN(executorRunTime) AS c FROM task;
