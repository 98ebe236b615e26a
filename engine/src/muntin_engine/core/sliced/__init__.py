"""Evaluation over slices: rows are merged per key and slice, and windows are made from slices."""
