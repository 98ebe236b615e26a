SELECT
  myplugin.spread(value) AS spread, -- only: aggregate
  myplugin.mean(value) AS mean, -- only: incremental
  sensor,
  window_start
FROM TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '1' HOUR)
GROUP BY sensor, window_start, window_end
