SELECT j.applicationId,
       j.jobId,
       j.jobName,
       ROUND(SUM(s.readBytes)         / 1048576, 2) AS inputMb,
       ROUND(SUM(s.writeBytes)        / 1048576, 2) AS outputMb,
       ROUND(SUM(s.shuffleReadBytes)  / 1048576, 2) AS shuffleReadMb,
       ROUND(SUM(s.shuffleWriteBytes) / 1048576, 2) AS shuffleWriteMb,
       ROUND(SUM(s.readBytes + s.writeBytes
               + s.shuffleReadBytes + s.shuffleWriteBytes) / 1048576, 2) AS totalIoMb
  FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
 GROUP BY j.applicationId, j.applicationAttempt, j.jobId, j.jobName
 ORDER BY totalIoMb DESC
