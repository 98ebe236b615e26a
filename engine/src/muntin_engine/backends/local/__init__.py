"""Queries in this process, over Arrow data and without a JVM."""
