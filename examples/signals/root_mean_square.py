"""The root mean square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from muntin import ColumnarAggregate, Component

Floats: TypeAlias = npt.NDArray[np.float64]


class RootMeanSquare(ColumnarAggregate[float | None, float | None]):
    """Return the root of the average of the squares: how strong a vibration is, in the unit of the payload.

    Types: float to float.
    Nulls: skipped; the result is null where there is nothing else.
    NaN and infinities: the result is NaN, or infinite. So it is where a square is beyond the largest float.

    Laws: those of `ColumnarAggregate`. Squares are rounded one by one; their average is exact, and rounded once.

    Rounding: a square below 1e-308 has fewer digits than others, so payloads below 1e-154 lose some; those below 1e-162
        count as zero.

    Cost: an exact sum and a count, 24 bytes, per key and slice.

    Example:
        >>> strength = RootMeanSquare()
        >>> strength.compute_result(strength.add_events(strength.create_state(), [1.0, -7.0, None]))
        5.0
    """

    name, version = "tilt.root_mean_square", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        """Return the mean of the squares."""
        return {"square": Component.mean()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return the squares."""
        with np.errstate(over="ignore"):
            return {"square": payloads * payloads}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the roots."""
        root: Floats = np.sqrt(components["square"])
        return root
