SELECT sensor, window_start, myplugin.spread(value) AS spread, myplugin.mean(value) AS mean
FROM TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '1' HOUR)
GROUP BY sensor, window_start, window_end
