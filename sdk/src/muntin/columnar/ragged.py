"""Arrays of arrays of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muntin.columnar.arrays import Array, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """The collected values of n groups, one group after the other.

    Attributes:
        values: All values; those of a group are in ascending order, NaN last.
        offsets: n + 1 places: group i is `values[offsets[i]:offsets[i + 1]]`.

    Example:
        >>> import numpy as np
        >>> Ragged(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 3])).counts.tolist()
        [2, 1]
    """

    values: Array
    offsets: IntArray

    @classmethod
    def of(cls, groups: Sequence[Array]) -> Ragged:
        """Return groups, at least one, as arrays of values in any order.

        Example:
            >>> import numpy as np
            >>> Ragged.of([np.array([5, 1]), np.array([2])]).values.tolist()
            [1, 5, 2]
        """
        return cls(np.concatenate([np.sort(group) for group in groups]), np.cumsum([0, *map(len, groups)]))

    @property
    def counts(self) -> IntArray:
        """The number of values of each group."""
        return np.diff(self.offsets)

    @property
    def groups(self) -> IntArray:
        """For each value the number of its group."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)
