"""The evaluator of pairs: joins of events whose ends stay, on arrays."""
