"""Collected values as a columnar aggregate gets them, and its results as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from muntin.axis import moment
from muntin.columnar.arrays import Array, IntArray, PayloadArrays
from muntin.errors import ModuleContractError
from muntin.schemas import Field
from muntin.schemas.components import Component


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """The collected values of n groups, one group after the other.

    Attributes:
        values: All values; those of a group are in ascending order, NaN last.
        offsets: The n + 1 indexes at which groups begin and end: group i is `values[offsets[i]:offsets[i + 1]]`.

    Example:
        >>> import numpy as np
        >>> Ragged(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 3])).counts.tolist()
        [2, 1]
    """

    values: Array
    offsets: IntArray

    @classmethod
    def of(cls, groups: Sequence[Array]) -> Ragged:
        """Put groups together, at least one of them, each an array of values in any order.

        Example:
            >>> import numpy as np
            >>> Ragged.of([np.array([5, 1]), np.array([2])]).values.tolist()
            [1, 5, 2]
        """
        sorted_groups = [np.sort(group) for group in groups]
        offsets = np.cumsum([0, *map(len, groups)])
        return cls(np.concatenate(sorted_groups), offsets)

    @property
    def counts(self) -> IntArray:
        """The number of values of each group."""
        return np.diff(self.offsets)

    @property
    def groups(self) -> IntArray:
        """The number of the group of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)


class OnArrays(Protocol):
    """A columnar aggregate, as `ColumnarAggregate` describes it."""

    skips_nulls: ClassVar[bool]
    empty_result: ClassVar[Any]

    @classmethod
    def input_field(cls) -> Field:
        """Return the type of a payload."""
        ...

    def components(self) -> Mapping[str, Component]:
        """Return the components, by name."""
        ...

    def lift(self, payloads: PayloadArrays) -> Mapping[str, Array]:
        """Return the contribution of each payload to each component."""
        ...

    def compute_results(self, components: Mapping[str, Array | Ragged]) -> Array:
        """Return the results of n windows."""
        ...


def results_of(module: OnArrays, components: Mapping[str, Array | Ragged], count: int) -> list[object]:
    """Compute the results of n windows, as Python values.

    Args:
        module: The module.
        components: The values of the n windows for each component, by its name: an array, or for collected values a
            `Ragged`.
        count: The number of windows.

    Raises:
        ModuleContractError: The module returned another number of results.
    """
    with np.errstate(all="ignore"):  # where floats overflow or are divided by zero, the values say so
        results = module.compute_results(components)
    if np.shape(results) != (count,):
        raise ModuleContractError(
            f"compute_results returned results of the shape {np.shape(results)}\n  expected: {(count,)}, one per window"
        )
    return python_values(results)


def python_values(results: Array) -> list[object]:
    """Return an array as Python values: datetimes are aware and in UTC, and masked entries and NaT are None.

    Example:
        >>> python_values(np.ma.MaskedArray([1.5, 0.0], [False, True]))
        [1.5, None]
        >>> python_values(np.array(["1970-01-02"], "datetime64[us]"))
        [datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)]
    """
    is_null = np.ma.getmaskarray(results)
    array = np.ma.getdata(results)
    if array.dtype.kind in "mM":
        # Not `|=`, which would change the mask of the module's own array.
        is_null = is_null | np.isnat(array)

    # NumPy would make naive datetimes, but those of a query are aware, in UTC. Of days it makes dates, which is right.
    if array.dtype.kind == "M" and array.dtype != np.dtype("datetime64[D]"):
        values = array.astype("datetime64[us]").view("int64").tolist()
        return [None if missing else moment(value) for missing, value in zip(is_null, values, strict=True)]
    if array.dtype.kind == "m":
        array = array.astype("timedelta64[us]")  # of a finer unit NumPy would make integers
    values = array.tolist()
    return [None if missing else _plain(value) for missing, value in zip(is_null, values, strict=True)]


_PLAIN_SCALARS: Final = (np.bool_, np.integer, np.float64)
"""The scalars of NumPy whose `item` is the value of Python: they are never null, and have no unit."""


def python_value(result: object) -> object:
    """Return a scalar or an array of NumPy as plain Python, with None for NaT and masked entries.

    Any other value is returned as it is.

    Example:
        >>> python_value(np.float64(1.5)), python_value(np.array([1, 2])), python_value(np.ma.masked)
        (1.5, [1, 2], None)
    """
    if isinstance(result, _PLAIN_SCALARS):
        return result.item()
    if isinstance(result, np.ndarray) and result.ndim == 1:
        return python_values(result)
    if isinstance(result, np.ndarray) and result.ndim:
        return result.tolist()
    if isinstance(result, np.generic | np.ndarray):
        return python_values(np.ma.atleast_1d(result))[0]  # a single value: a scalar, or an array without axes
    return result


def _plain(value: object) -> object:
    """Return an entry of an array of objects as a plain Python value."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
