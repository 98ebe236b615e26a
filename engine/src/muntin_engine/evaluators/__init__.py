"""The evaluators, a line for each in `registry`, and the parts that several of them share: `keyed` and `revised`."""
