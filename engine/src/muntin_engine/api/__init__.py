"""The calls of a query writer. `request` and `planned_query` hold what they collect, as plain data."""
