"""Muntin beside other ways to compute the same windows, on one machine, in one run."""
