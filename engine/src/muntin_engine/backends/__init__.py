"""What runs a query: Spark, or this process."""
