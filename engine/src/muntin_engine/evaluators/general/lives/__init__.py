"""State TTL in event time: a key is forgotten once it has been silent for long enough (`forget_keys_after`).

Each stretch of activity of a key is a *life*, and is evaluated as a key of its own.
"""
