"""NumPy, or what to do where there is none."""

from __future__ import annotations

try:
    import numpy  # noqa: F401 - whether it is there is all that matters here
except ImportError as error:
    raise ImportError(
        "columnar aggregates need NumPy, which is not installed\n  to do: pip install 'muntin[columnar]'", name="numpy"
    ) from error
