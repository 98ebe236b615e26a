"""Sessions of Spark: found, started, prepared, and asked what they are."""
