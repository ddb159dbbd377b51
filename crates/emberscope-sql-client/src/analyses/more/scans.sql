SELECT application_id,
       sql_id,
       node_id,
       node_name,
       metrics['number of files read'] AS files,
       ROUND(metrics['size of files read'] / 1048576, 2) AS readMb,
       metrics['number of output rows'] AS outputRows,
       metrics['number of partitions read'] AS partitions,
       ROUND(metrics['size of files read'] / NULLIF(metrics['number of files read'], 0) / 1048576, 3) AS mbPerFile,
       metrics['metadata time'] AS metadataMs
  FROM plan_node
 WHERE node_name LIKE '%Scan %'
 ORDER BY readMb DESC, files DESC, application_id, sql_id, node_id
 LIMIT :limit
