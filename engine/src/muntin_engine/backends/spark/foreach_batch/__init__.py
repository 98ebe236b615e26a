"""Streaming queries that write: micro-batches handed to sinks."""
