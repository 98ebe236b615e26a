"""Recordings of queries: what came, kept as plain data, run again without Spark, and explained row by row."""
