SELECT t.applicationId,
       t.executorId,
       t.host,
       COUNT(1) AS attempts,
       SUM(CASE WHEN t.status = 'failed' THEN 1 ELSE 0 END) AS failed,
       SUM(CASE WHEN t.status = 'killed' THEN 1 ELSE 0 END) AS killed,
       ROUND(100 * SUM(CASE WHEN t.status = 'failed' THEN 1 ELSE 0 END) / COUNT(1), 1) AS failedPercent,
       ROUND(SUM(CASE WHEN t.useful THEN 0 ELSE t.taskDuration END) / 1000, 1) AS lostSec,
       MAX(e.removed_reason) AS removedReason
  FROM task t
  LEFT JOIN executor e ON e.application_id = t.applicationId AND e.application_attempt <=> t.applicationAttempt
                      AND e.executor_id = t.executorId
 GROUP BY t.applicationId, t.applicationAttempt, t.executorId, t.host
HAVING SUM(CASE WHEN t.status = 'failed' OR t.status = 'killed' THEN 1 ELSE 0 END) > 0
 ORDER BY failed DESC, killed DESC, t.applicationId, t.executorId
 LIMIT :limit
