"""Sessions of Spark: find, start, prepare and describe them."""
