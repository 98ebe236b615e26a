"""The exchange between driver, rows and buckets: the query as one payload, and Arrow tables. It needs no PySpark."""
