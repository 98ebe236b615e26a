"""The evaluator of joins: the events of two inputs are kept by key, and matched where their lifetimes overlap."""
