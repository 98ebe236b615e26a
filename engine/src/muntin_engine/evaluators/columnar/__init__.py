"""The columnar evaluator: arrays of components per key and slice, or range of windows."""
