SELECT q.applicationId,
       q.sqlId,
       q.description,
       q.status,
       ROUND(q.duration / 1000, 1) AS wallSec,
       ROUND(SUM(s.execRunNs) / 1e9, 1) AS coreSec,
       ROUND(SUM(s.execCpuNs) / 1e9, 1) AS cpuSec,
       ROUND(SUM(s.execJvmGcNs) / 1e9, 1) AS gcSec,
       COUNT(1) AS stageAttempts
  FROM sql q
  JOIN job j ON j.applicationId = q.applicationId AND j.applicationAttempt <=> q.applicationAttempt
            AND j.sqlId = CAST(q.sqlId AS STRING)
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_MIN(s.jobIds) = j.jobId
 GROUP BY q.applicationId, q.applicationAttempt, q.sqlId, q.description, q.status, q.duration
 ORDER BY coreSec DESC, q.applicationId, q.sqlId
 LIMIT :limit
