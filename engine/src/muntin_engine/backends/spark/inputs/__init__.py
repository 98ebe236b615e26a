"""The inputs of a query as DataFrames of Spark's, and their columns."""
