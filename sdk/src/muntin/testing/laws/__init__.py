"""The laws of the base classes, as classes that a module writer's tests subclass.

Their blind spots are listed in docs/reference/laws.md.
"""

# Every file of this package imports one of the two: a missing package is reported here, once, with its remedy.
try:
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"laws are tried with Hypothesis and pytest, and {error.name} is not installed\n"
        "  to do: pip install 'muntin-sdk[testing]'",
        name=error.name,
    ) from error
