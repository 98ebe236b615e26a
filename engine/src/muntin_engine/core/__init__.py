"""What all parts of the engine share: changes, keys, queries, meters. Plain Python, no Spark."""
