"""A function: one value per row, wherever a Spark expression may stand."""

from __future__ import annotations

from muntin import function


@function("myplugin.fahrenheit", version="0.1.0")
def fahrenheit(celsius: float | None) -> float | None:
    """Return degrees Celsius as degrees Fahrenheit; null for null.

    Example:
        >>> fahrenheit(100.0)
        212.0
    """
    return None if celsius is None else celsius * 9 / 5 + 32
