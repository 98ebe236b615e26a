"""Spark queries that write: micro-batches handed to sinks, and the checkpoints they go on from."""
