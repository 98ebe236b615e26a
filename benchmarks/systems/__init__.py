"""The systems that answer questions: Muntin, Spark alone, code written by hand, and other engines."""
