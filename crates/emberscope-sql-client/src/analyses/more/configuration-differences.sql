WITH keys AS (
  SELECT `key`,
         COUNT(DISTINCT COALESCE(value, '')) AS distinctValues,
         COUNT(1) AS runs
    FROM config
   WHERE kind = 'spark' AND sql_id IS NULL
     AND `key` NOT IN ('spark.app.id', 'spark.app.startTime', 'spark.app.submitTime', 'spark.driver.port',
                       'spark.driver.host', 'spark.app.initial.jar.urls', 'spark.executor.id')
   GROUP BY `key`
)
SELECT k.`key`,
       COALESCE(c.value, '') AS value,
       COUNT(1) AS runs,
       MIN(c.application_id) AS firstApplication,
       MAX(c.application_id) AS lastApplication
  FROM keys k
  JOIN config c ON c.`key` = k.`key` AND c.kind = 'spark' AND c.sql_id IS NULL
 CROSS JOIN (SELECT COUNT(1) AS runs FROM application) n
 WHERE k.distinctValues > 1 OR k.runs < n.runs
 GROUP BY k.`key`, COALESCE(c.value, '')
 ORDER BY k.`key`, runs DESC, value
 LIMIT :limit
