"""The part of a columnar aggregate that the arithmetic on arrays calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from muntin.columnar.arrays import Array, PayloadArrays
from muntin.columnar.ragged import Ragged
from muntin.components import Component
from muntin.schemas import Field


class OnArrays(Protocol):
    """A columnar aggregate, as `ColumnarAggregate` describes it."""

    skips_nulls: ClassVar[bool]
    empty_result: ClassVar[Any]

    @classmethod
    def input_field(cls) -> Field:
        """Return the description of a payload."""
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
