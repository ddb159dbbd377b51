WITH runs AS (
  SELECT name,
         application_id,
         status,
         start_time_ms,
         duration_ms,
         all_run_time_ms,
         AVG(duration_ms) OVER (PARTITION BY name ORDER BY start_time_ms
                                ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING) AS usualMs
    FROM application
   WHERE name LIKE :name
)
SELECT name,
       application_id,
       status,
       start_time_ms,
       ROUND(duration_ms / 1000, 1) AS wallSec,
       ROUND(all_run_time_ms / 1000, 1) AS coreSec,
       ROUND(usualMs / 1000, 1) AS usualSec,
       ROUND(duration_ms / NULLIF(usualMs, 0), 2) AS ratio,
       CASE WHEN duration_ms > :factor * usualMs THEN 'slower'
            WHEN duration_ms * :factor < usualMs THEN 'faster'
            ELSE '' END AS change
  FROM runs
 ORDER BY name, start_time_ms, application_id
 LIMIT :limit
