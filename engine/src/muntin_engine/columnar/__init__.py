"""Evaluation on arrays: all rows, keys and windows of a batch at once."""
