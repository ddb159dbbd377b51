SELECT q.applicationId,
       q.sqlId,
       q.description,
       ROUND(SUM(s.diskBytesSpilled) / 1048576, 1) AS diskSpillMb,
       ROUND(SUM(s.memoryBytesSpilled) / 1048576, 1) AS memorySpillMb,
       ROUND(SUM(s.shuffleReadBytes) / 1048576, 1) AS shuffleReadMb
  FROM sql q
  JOIN job j ON j.applicationId = q.applicationId AND j.applicationAttempt <=> q.applicationAttempt
            AND j.sqlId = CAST(q.sqlId AS STRING)
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_MIN(s.jobIds) = j.jobId
 GROUP BY q.applicationId, q.applicationAttempt, q.sqlId, q.description, q.status, q.duration
HAVING SUM(s.diskBytesSpilled) > 0 OR SUM(s.memoryBytesSpilled) > 0
 ORDER BY diskSpillMb DESC, q.applicationId, q.sqlId
 LIMIT :limit
