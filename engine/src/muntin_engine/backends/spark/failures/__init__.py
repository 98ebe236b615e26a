"""Errors of queries, in the words of the code that failed."""
