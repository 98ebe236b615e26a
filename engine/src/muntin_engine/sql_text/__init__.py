"""Queries in SQL: text to the plain data of a query, and back; a leaf that nothing below knows, but for `to_sql`."""
