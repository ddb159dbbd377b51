SELECT application_id,
       sql_id,
       node_id,
       node_name,
       ROUND(metrics['time to run Python workers'] / 1000, 2) AS runSec,
       ROUND(metrics['time to start Python workers'] / 1000, 2) AS startSec,
       ROUND(metrics['time to initialize Python workers'] / 1000, 2) AS initializeSec,
       ROUND(metrics['data sent to Python workers'] / 1048576, 2) AS sentMb,
       ROUND(metrics['data returned from Python workers'] / 1048576, 2) AS returnedMb,
       metrics['number of output rows'] AS outputRows
  FROM plan_node
 WHERE metrics['data sent to Python workers'] IS NOT NULL
 ORDER BY runSec DESC, sentMb DESC, application_id, sql_id, node_id
 LIMIT :limit
