"""The common core of the engine: changes, keys, queries, meters. Plain Python, no Spark."""
