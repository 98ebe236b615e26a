"""A query as plain data that people write: the calls that make it, in order, in the words of their parameters."""
