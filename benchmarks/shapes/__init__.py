"""The shapes of the thesis's measurements, with the engine itself and no Spark.

Li, Window Queries over Data Streams, 2008: figures 6-10, 6-11, 6-12, 6-15, 6-19 (a), 7-6, 8-8 and 8-10.
"""
