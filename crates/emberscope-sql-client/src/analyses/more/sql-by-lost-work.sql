SELECT q.applicationId,
       q.sqlId,
       q.description,
       q.status,
       ROUND(SUM(s.execRunNs - s.usefulRunNs) / 1e9, 2) AS lostCoreSec,
       ROUND(SUM(s.execRunNs) / 1e9, 2) AS coreSec,
       ROUND(100 * SUM(s.execRunNs - s.usefulRunNs) / NULLIF(SUM(s.execRunNs), 0), 1) AS lostPercent,
       SUM(CASE WHEN s.attempt > 0 THEN 1 ELSE 0 END) AS stageRetries
  FROM sql q
  JOIN job j ON j.applicationId = q.applicationId AND j.applicationAttempt <=> q.applicationAttempt
            AND j.sqlId = CAST(q.sqlId AS STRING)
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_MIN(s.jobIds) = j.jobId
 GROUP BY q.applicationId, q.applicationAttempt, q.sqlId, q.description, q.status, q.duration
HAVING SUM(s.execRunNs - s.usefulRunNs) > 0
 ORDER BY lostCoreSec DESC, q.applicationId, q.sqlId
 LIMIT :limit
