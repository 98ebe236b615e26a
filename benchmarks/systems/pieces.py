"""The rows of one key and batch, reduced with NumPy to one piece per window."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.windows import Aggregate


def pieces(aggregate: Aggregate, frame: pd.DataFrame) -> Iterator[tuple[int, tuple[int, float]]]:
    """Yield the last window of some rows with their count and their sum, or maximum.

    Args:
        aggregate: What is computed.
        frame: Has the columns `last` and `value`, and at least one row.
    """
    lasts, places = np.unique(frame["last"].to_numpy(), return_inverse=True)
    values = frame["value"].to_numpy()
    counts = np.bincount(places)
    if aggregate == "average":
        reduced = np.bincount(places, values)
    else:
        reduced = np.full(len(lasts), -np.inf)
        np.maximum.at(reduced, places, values)
    for last, count, value in zip(lasts.tolist(), counts.tolist(), reduced.tolist(), strict=True):
        yield last, (count, value)
