"""The tasks of a query: they read rows, call an evaluator, count, and wrap its output as blobs, without PySpark."""
