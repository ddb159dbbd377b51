SELECT j.applicationId,
       j.jobId,
       j.jobName,
       ROUND(SUM(s.memoryBytesSpilled) / 1048576, 2) AS memorySpillMb,
       ROUND(SUM(s.diskBytesSpilled)   / 1048576, 2) AS diskSpillMb
  FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
 GROUP BY j.applicationId, j.applicationAttempt, j.jobId, j.jobName
HAVING SUM(s.memoryBytesSpilled) > 0
    OR SUM(s.diskBytesSpilled)   > 0
 ORDER BY diskSpillMb DESC
