"""Queries of Jin Li's thesis *Window Queries over Data Streams*, Portland State University, 2008."""
