"""The state of a columnar aggregate: named components, each with a way to merge two of its values.

A component is plain data and needs no NumPy: code that computes with it looks up the array functions by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypedDict

from muntin.errors import ModuleDefinitionError


class Merge(StrEnum):
    """The merge of two values of a component, named by the NumPy function that does it."""

    ADD = "add"
    """The sum."""
    MULTIPLY = "multiply"
    """The product."""
    MIN = "fmin"
    """The smaller; NaN counts as larger than any number, as in Spark SQL."""
    MAX = "maximum"
    """The larger; NaN counts as larger than any number, as in Spark SQL."""
    BIT_AND = "bitwise_and"
    """The bits that both have."""
    BIT_OR = "bitwise_or"
    """The bits that either has."""
    MEAN = "mean"
    """The sum, as for `ADD`; `compute_results` gets the sum divided by the number of payloads, rounded once."""
    COUNT = "count"
    """The number of payloads, which the engine counts: `lift` does not return it."""
    COLLECT = "collect"
    """All values, side by side, as many as before."""
    CUSTOM = "custom"
    """A function of the writer's own."""


@dataclass(frozen=True, slots=True)
class Component:
    """A value that a columnar aggregate keeps per key and slice: a number, or a vector of fixed shape.

    Make a component with the constructors below. Components of the same kind and type are equal, and so are components
    that merge by the same function.

    Laws: merging is associative and commutative, `identity` changes nothing, and `inverse`, if there is one, gives the
    other operand back exactly: `inverse(merge(a, b), b)` equals `a` bit for bit. Sums and means of floats are kept
    without rounding (see `is_exact`), so they do not depend on the order of merges. Floats that are multiplied, or
    merged by a function of the writer's own, are rounded at each step.

    Attributes:
        merge: The operation that merges two values into one.
        dtype: The NumPy type of the values, by its full name, such as `"float64"` or `"datetime64[us]"`.
        identity: The value that changes nothing when merged, in every place of a vector; for datetime64 and timedelta64
            it may be an integer.
        shape: Empty for a number; the lengths of a vector's axes otherwise.
        function: The function of `Merge.CUSTOM` from two arrays of values, with the values along the first axis, to the
            merged values, such as a NumPy ufunc of two operands.
        inverse: The function that undoes `function` exactly; None if there is none. Integer addition has its own.

    Raises:
        ModuleDefinitionError: The type is unknown, or cannot be merged in that way.

    Example:
        >>> Component.sum("int64")
        Component(merge=<Merge.ADD: 'add'>, dtype='int64', identity=0, shape=(), function=None, inverse=None)
    """

    merge: Merge
    dtype: str
    identity: Any
    shape: tuple[int, ...] = ()
    function: Callable[[Any, Any], Any] | None = None
    inverse: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        """Refuse a type, a function, an inverse or a shape that does not suit the way of merging."""
        _check_type(self.merge, self.dtype)
        if (self.merge is Merge.CUSTOM) != (self.function is not None):
            raise ModuleDefinitionError("a component has a function if, and only if, it merges by one of its own")
        # For merges by name it is known which have an inverse.
        if self.inverse is not None and self.function is None:
            raise ModuleDefinitionError(f"an inverse belongs to a function of your own, and {self.merge.name} is none")
        if any(length <= 0 for length in self.shape):
            raise ModuleDefinitionError(f"the axes of a vector have at least one element, got the shape {self.shape}")
        if self.shape and self.merge in (Merge.COUNT, Merge.COLLECT):
            raise ModuleDefinitionError(f"{self.merge.name} is of single values, got the shape {self.shape}")

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Component) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        """Return the values by which components are compared; the identity as text, as NaN is not equal to itself."""
        return (self.merge, self.dtype, repr(self.identity), self.shape, self.function, self.inverse)

    @classmethod
    def count(cls) -> Component:
        """Make the component that counts the lifted payloads. `lift` does not return it."""
        return cls(Merge.COUNT, "int64", identity=0)

    @classmethod
    def sum(cls, dtype: str = "float64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of a sum, which has an inverse.

        Integers wrap around at the ends of their type: choose a type that is wide enough. A sum of floats is exact, and
        rounded once when `compute_results` gets it. It is infinite only if the exact sum is beyond the largest float,
        and NaN if a value is NaN or if there are infinities of both signs; a zero has no sign.
        """
        return cls(Merge.ADD, dtype, identity=0, shape=shape)

    @classmethod
    def mean(cls, dtype: str = "float64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of an arithmetic mean of floats, which has an inverse.

        The mean is the exact sum divided by the number of payloads, rounded once.
        """
        return cls(Merge.MEAN, dtype, identity=0, shape=shape)

    @classmethod
    def product(cls, dtype: str = "float64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of a product, which has no inverse."""
        return cls(Merge.MULTIPLY, dtype, identity=1, shape=shape)

    @classmethod
    def min(cls, dtype: str = "float64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of the smallest value, where NaN is larger than any number."""
        return cls(Merge.MIN, dtype, identity=_extreme(dtype, largest=True), shape=shape)

    @classmethod
    def max(cls, dtype: str = "float64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of the largest value, where NaN is larger than any number."""
        return cls(Merge.MAX, dtype, identity=_extreme(dtype, largest=False), shape=shape)

    @classmethod
    def bit_and(cls, dtype: str = "int64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of the bits that all values have; of booleans, it is true if all are."""
        all_bits: object = -1  # of a signed integer
        if dtype == "bool":
            all_bits = True
        elif dtype.startswith("uint"):
            all_bits = _extreme(dtype, largest=True)
        return cls(Merge.BIT_AND, dtype, identity=all_bits, shape=shape)

    @classmethod
    def bit_or(cls, dtype: str = "int64", shape: tuple[int, ...] = ()) -> Component:
        """Make the component of the bits that any value has; of booleans, it is true if any is."""
        no_bits = False if dtype == "bool" else 0
        return cls(Merge.BIT_OR, dtype, identity=no_bits, shape=shape)

    @classmethod
    def merged(
        cls,
        function: Callable[[Any, Any], Any],
        identity: Any,
        dtype: str = "float64",
        shape: tuple[int, ...] = (),
        inverse: Callable[[Any, Any], Any] | None = None,
    ) -> Component:
        """Make the component of a value that is merged by a function on whole arrays.

        Args:
            function: The function from two arrays of n values to n merged values, associative and commutative.
            identity: The value that changes nothing when merged.
            dtype: The NumPy type of the values.
            shape: The lengths of a vector's axes; empty for a number.
            inverse: The function that undoes a merge to the last bit; None if there is none.

        Example:
            >>> import numpy as np
            >>> from muntin import ColumnarAggregate
            >>> class LogSum(ColumnarAggregate[float, float]):
            ...     name, version = "demo.log_sum", "1.0.0"
            ...     def components(self):
            ...         return {"log": Component.merged(np.logaddexp, -np.inf)}
            ...     def lift(self, payloads):
            ...         return {"log": payloads}
            ...     def compute_results(self, components):
            ...         return components["log"]
            >>> log_sum = LogSum()
            >>> round(log_sum.compute_result(log_sum.add_events(log_sum.create_state(), [0.0, 0.0])), 6)
            0.693147
        """
        return cls(Merge.CUSTOM, dtype, identity=identity, shape=shape, function=function, inverse=inverse)

    @classmethod
    def values(cls, dtype: str = "float64") -> Component:
        """Make the component that keeps all values: a last resort, as the state grows with the rows.

        `compute_results` gets a `muntin.columnar.Ragged` with the `values`, sorted within each window, and the
        `offsets` at which windows begin and end.

        Example:
            >>> from muntin import ColumnarAggregate
            >>> class Median(ColumnarAggregate[float, float]):
            ...     name, version = "demo.median", "1.0.0"
            ...     def components(self):
            ...         return {"values": Component.values()}
            ...     def lift(self, payloads):
            ...         return {"values": payloads}
            ...     def compute_results(self, components):
            ...         ragged = components["values"]
            ...         return ragged.values[ragged.offsets[:-1] + (ragged.counts - 1) // 2]
            >>> median = Median()
            >>> median.compute_result(median.add_events(median.create_state(), [3.0, 1.0, 2.0]))
            2.0
        """
        return cls(Merge.COLLECT, dtype, identity=None)

    @property
    def is_lifted(self) -> bool:
        """True if `lift` returns values of the component."""
        return self.merge is not Merge.COUNT

    @property
    def has_inverse(self) -> bool:
        """True if a merge can be undone exactly."""
        if self.merge is Merge.ADD:
            return _kind_of(self.dtype) == "int"
        return self.inverse is not None or self.merge is Merge.COUNT

    @property
    def is_exact(self) -> bool:
        """True for a sum or mean of floats, of which every bit is kept until a result is computed."""
        return self.merge in (Merge.ADD, Merge.MEAN) and _kind_of(self.dtype) == "float"


class ColumnarState(TypedDict):
    """The state of the incremental methods of a columnar aggregate, as plain data; see `ColumnarAggregate`."""

    payloads: int
    """The number of payloads that were lifted."""
    kept: dict[str, Any]
    """The value of each component, by its name."""


# Each alternative has one group: the kind of the type, whatever its width.
_DTYPE: Final = re.compile(
    r"u?(int)(?:8|16|32|64)|(float)(?:16|32|64)|(bool)|(object)|(datetime64|timedelta64)\[(?:D|h|m|s|ms|us|ns)\]"
)
_MERGEABLE: Final[Mapping[Merge, tuple[str, ...]]] = {
    Merge.ADD: ("int", "float", "timedelta64", "object"),
    Merge.MEAN: ("float",),
    Merge.MULTIPLY: ("int", "float", "object"),
    Merge.MIN: ("int", "float", "bool", "datetime64", "timedelta64"),
    Merge.MAX: ("int", "float", "bool", "datetime64", "timedelta64"),
    Merge.BIT_AND: ("int", "bool"),
    Merge.BIT_OR: ("int", "bool"),
    Merge.COUNT: ("int",),
}
"""The kinds of types that each way of merging accepts; a way that is not listed accepts all."""


@cache
def _kind_of(dtype: str) -> str | None:
    """Return the kind of type that a name stands for, such as `"int"` for `"uint8"`; None if it is not a type."""
    match = _DTYPE.fullmatch(dtype)
    if match is None:
        return None
    return match[match.lastindex or 0]  # exactly one group of the pattern has matched


def _check_type(merge: Merge, dtype: str) -> None:
    """Refuse a type that is unknown, or whose values cannot be merged in the way of a component.

    Raises:
        ModuleDefinitionError: The type does not suit the component.
    """
    kind = _kind_of(dtype)
    if kind is None:
        raise ModuleDefinitionError(
            f"{dtype!r} is not a type of a component\n"
            "  expected: int8 to int64, uint8 to uint64, float16 to float64, bool, object,\n"
            "    or datetime64 or timedelta64 with a unit, such as datetime64[us]"
        )
    mergeable_kinds = _MERGEABLE.get(merge, (kind,))  # a way of merging that is not listed accepts every kind
    if kind not in mergeable_kinds:
        raise ModuleDefinitionError(
            f"{merge.name} does not merge values of type {dtype}\n"
            f"  expected: a type of {', '.join(mergeable_kinds)}, to which lift may cast; "
            "or Component.merged with a function"
        )


_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def _extreme(dtype: str, *, largest: bool) -> object:
    """Return the largest value of a type, which a minimum begins with, or the smallest one, for a maximum."""
    if dtype in _BITS:
        magnitude = 2 ** (_BITS[dtype] - 1)
        return magnitude - 1 if largest else -magnitude
    signed_type = dtype.removeprefix("u")
    if signed_type in _BITS:  # the type itself is unsigned
        return 2 ** _BITS[signed_type] - 1 if largest else 0
    if dtype.startswith("float"):
        return float("nan") if largest else float("-inf")  # NaN counts as larger than infinity
    if dtype == "bool":
        return largest
    if dtype.startswith(("datetime64", "timedelta64")):
        return 2**63 - 1 if largest else -(2**63) + 1  # the smallest integer is NumPy's NaT
    return None  # there is no such type, and `_check_type` refuses the component
