"""Evaluation on arrays: rows as stretches of a key's axis, their stores, and the windows that are made of them."""
