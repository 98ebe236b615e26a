"""The ways to compute windows: a folder for each, and a line for each in `registry`."""
