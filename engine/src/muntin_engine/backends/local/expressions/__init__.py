"""Expressions in Spark's SQL, translated for DuckDB: with the same values and types, or refused.

The text is parsed by sqlglot in Spark's dialect. Each kind of node has one rule; whatever has none is refused, so that
no expression means one thing on Spark and another in this process. Where the two systems differ, the rule says how and
writes what Spark does in its ANSI mode: integer division by zero is an error, a cast of a number truncates, an index
begins at 0.

`translation.translated` reads a text, by way of `parsed_text`; each file of rules holds one family of expressions.
"""
