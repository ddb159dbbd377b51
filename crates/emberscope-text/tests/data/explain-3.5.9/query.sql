SELECT d.name,
       count(*) AS orders,
       count(DISTINCT f.buyer) AS buyers,
       sum(f.amount) AS amount
FROM fact f
JOIN dim d ON f.item_id = d.item_id
WHERE f.amount > (SELECT avg(amount) / 100 FROM fact)
GROUP BY d.name
ORDER BY amount DESC
LIMIT 10
