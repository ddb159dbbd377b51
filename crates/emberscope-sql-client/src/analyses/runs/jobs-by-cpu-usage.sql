SELECT j.applicationId,
       j.jobId,
       j.jobName,
       ROUND(SUM(s.execCpuNs) / 1e9, 2) AS cpuTimeSec
  FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
 GROUP BY j.applicationId, j.applicationAttempt, j.jobId, j.jobName
 ORDER BY cpuTimeSec DESC
