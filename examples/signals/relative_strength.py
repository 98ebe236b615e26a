"""The relative strength index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from muntin import ColumnarAggregate, Component

Floats: TypeAlias = npt.NDArray[np.float64]


class RelativeStrength(ColumnarAggregate[float | None, float | None]):
    """Return the share of the rises in all that a price moved, in percent, from the changes of its steps.

    100 if it only rose, 0 if it only fell, 50 if both were alike. Rises and falls are averaged without weights, so the
    index depends on the steps of the window alone; Wilder's own weighs all steps since the first, the newest most.

    Types: changes as float to float, from 0 to 100.
    Nulls: skipped, as the first price of a key, which has no change.
    NaN and infinities: the index is NaN.
    No result, which is null: nothing moved in the window.

    Laws: those of `ColumnarAggregate`. Rises and falls are summed exactly, and the quotient is rounded: an index does
        not depend on the order of rows or the boundaries of batches.

    Cost: two exact sums, of 16 bytes each, per key and slice.

    Source: J. W. Wilder, New Concepts in Technical Trading Systems (1978), section VI; with the plain averages of
        D. Cutler.

    Example:
        >>> index = RelativeStrength()
        >>> index.compute_result(index.add_events(index.create_state(), [2.0, -1.0, None, 1.0]))
        75.0
    """

    name, version = "tilt.relative_strength", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        """Return the sums of rises and of falls."""
        return {"rises": Component.sum(), "falls": Component.sum()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return each change as a rise or a fall; NaN counts as both."""
        return {"rises": np.maximum(payloads, 0.0), "falls": np.maximum(-payloads, 0.0)}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the indexes; null where nothing moved."""
        rises = components["rises"]
        falls = components["falls"]
        is_still = (rises == 0.0) & (falls == 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            moved = np.where(is_still, 1.0, rises + falls)
            return np.ma.MaskedArray(rises / moved * 100.0, mask=is_still)
