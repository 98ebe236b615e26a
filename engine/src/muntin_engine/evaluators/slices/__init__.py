"""The sliced evaluator: Python states per key and slice."""
