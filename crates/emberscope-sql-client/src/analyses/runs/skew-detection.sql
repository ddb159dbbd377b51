SELECT j.applicationId,
       j.jobId,
       j.jobName,
       t.stageId,
       COUNT(1) AS taskCount,
       ROUND(MAX(t.executorRunTime) / 1000, 2) AS maxDurationSec,
       ROUND(PERCENTILE(t.executorRunTime, 0.5) / 1000, 2) AS medianDurationSec,
       ROUND(PERCENTILE(t.executorRunTime, 0.75) / 1000, 2) AS p75DurationSec,
       ROUND(STDDEV(t.executorRunTime) / 1000, 2) AS stddevDurationSec,
       ROUND(MAX(t.executorRunTime) / NULLIF(PERCENTILE(t.executorRunTime, 0.75), 0), 2) AS skewFactor
  FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
  JOIN task t ON t.applicationId = s.applicationId AND t.applicationAttempt <=> s.applicationAttempt
             AND t.stageId = s.stageId AND t.stageAttempt = s.attempt
 GROUP BY j.applicationId, j.applicationAttempt, j.jobId, j.jobName, t.stageId
HAVING MAX(t.executorRunTime) > 1.5 * PERCENTILE(t.executorRunTime, 0.75)
 ORDER BY skewFactor DESC
