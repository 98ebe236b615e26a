"""Evaluation over slices: what the evaluators that merge partial states have in common."""
