"""Queries in SQL: text to the plain data of a query, and back. Nothing here runs a query or needs Spark."""
