"""The shapes of the thesis's measurements, with the engine itself and no Spark.

Li, Window Queries over Data Streams, 2008: figures 6-10, 6-15 and 6-19 (a).
"""
