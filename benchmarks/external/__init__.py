"""The same question for systems that live in environments of their own.

Each module here is run by its system's interpreter as `python -m benchmarks.external.with_<system>`, and may import
only the standard library, pyarrow, its system and `benchmarks.external.task`.
"""
