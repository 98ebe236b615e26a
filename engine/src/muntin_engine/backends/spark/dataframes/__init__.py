"""The DataFrames of a query: its pipeline, and what is made of its results."""
