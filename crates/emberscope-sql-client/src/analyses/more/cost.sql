WITH memory AS (
  SELECT application_id,
         application_attempt,
         SUM(container_memory_bytes / 1073741824 * lifetime_ms / 3600000) AS gibHours,
         CONCAT_WS(', ', SORT_ARRAY(COLLECT_SET(container_memory_basis))) AS memoryFrom
    FROM executor
   GROUP BY application_id, application_attempt
)
SELECT a.`user`,
       a.application_id,
       a.name,
       a.status,
       ROUND(a.allocated_core_ms / 3600000, 3) AS coreHours,
       ROUND(m.gibHours, 3) AS gibHours,
       m.memoryFrom,
       ROUND(100 * a.busy_core_ms / NULLIF(a.allocated_core_ms, 0), 1) AS busyPercent,
       ROUND(a.allocated_core_ms / 3600000 * :core_hour + COALESCE(m.gibHours, 0) * :gib_hour, 4) AS cost,
       ROUND(SUM(a.allocated_core_ms / 3600000 * :core_hour + COALESCE(m.gibHours, 0) * :gib_hour)
             OVER (PARTITION BY a.`user`), 4) AS costOfUser,
       :currency AS currency
  FROM application a
  LEFT JOIN memory m ON m.application_id = a.application_id AND m.application_attempt <=> a.application_attempt
 ORDER BY costOfUser DESC, cost DESC, a.application_id
 LIMIT :limit
