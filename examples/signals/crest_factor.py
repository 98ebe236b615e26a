"""The crest factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from muntin import ColumnarAggregate, Component

Floats: TypeAlias = npt.NDArray[np.float64]


class CrestFactor(ColumnarAggregate[float | None, float | None]):
    """Return how far the largest peak stands out: the largest absolute value by the root mean square.

    1 for a square wave, the root of 2 for a sine; a bearing that begins to fail knocks, and has more.

    Types: float to float, at least 1.
    Nulls: skipped; the result is null where the squares of all other payloads are zero, or where there are none.
    NaN and infinities: the result is NaN. So it is, or zero, where a square is beyond the largest float.

    Laws: those of `ColumnarAggregate`. Squares are rounded one by one; their average is exact, and rounded once.

    Rounding: a square below 1e-308 has fewer digits than others, so payloads below 1e-154 lose some; those below 1e-162
        count as zero.

    Cost: an exact sum, a count and a maximum, 32 bytes, per key and slice.

    Example:
        >>> crest = CrestFactor()
        >>> crest.compute_result(crest.add_events(crest.create_state(), [1.0, -7.0, None]))
        1.4
    """

    name, version = "tilt.crest_factor", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        """Return the mean of the squares, and the largest absolute value."""
        return {"square": Component.mean(), "peak": Component.max()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return squares and absolute values."""
        with np.errstate(over="ignore"):
            return {"square": payloads * payloads, "peak": np.abs(payloads)}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the factors; null where the squares of all payloads were zero."""
        root = np.sqrt(components["square"])
        is_zero = root == 0.0
        divisor = np.where(is_zero, 1.0, root)
        with np.errstate(invalid="ignore"):
            return np.ma.MaskedArray(components["peak"] / divisor, mask=is_zero)
