"""A query as plain data that people write: the calls that make it, in order, with the names of their parameters."""
