"""Muntin on Spark: the only importer of PySpark."""
