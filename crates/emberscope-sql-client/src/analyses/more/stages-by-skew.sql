SELECT t.applicationId,
       t.stageId,
       t.stageAttempt,
       COUNT(1) AS tasks,
       ROUND(MAX(t.executorRunTime) / 1000, 2) AS maxSec,
       ROUND(PERCENTILE(t.executorRunTime, 0.5) / 1000, 2) AS medianSec,
       ROUND(MAX(t.executorRunTime) / NULLIF(PERCENTILE(t.executorRunTime, 0.5), 0), 1) AS timeSkew,
       ROUND(MAX(t.totalRecordsRead + t.recordsRead)
             / NULLIF(PERCENTILE(t.totalRecordsRead + t.recordsRead, 0.5), 0), 1) AS recordSkew
  FROM task t
 WHERE t.useful
 GROUP BY t.applicationId, t.applicationAttempt, t.stageId, t.stageAttempt
HAVING COUNT(1) > 1 AND MAX(t.executorRunTime) >= :min_seconds * 1000
 ORDER BY timeSkew DESC, t.applicationId, t.stageId, t.stageAttempt
 LIMIT :limit
