SELECT *
  FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
  JOIN task t ON t.applicationId = s.applicationId AND t.applicationAttempt <=> s.applicationAttempt
             AND t.stageId = s.stageId AND t.stageAttempt = s.attempt
