"""The evaluators of windows over the last rows of a key, on arrays: rows become runs by rank."""
