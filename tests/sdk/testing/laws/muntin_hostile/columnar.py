"""A columnar aggregate that keeps every law, of which the faulty ones are subclasses.

Its result is the list of the payloads in a window. It has all parts that a columnar aggregate may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import xor
from typing import Any, ClassVar, TypeAlias

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin.columnar import Ragged
from muntin.schemas.components import ColumnarState

from .honest import without

State: TypeAlias = ColumnarState


class HonestColumnarAggregate(ColumnarAggregate[int, list[int]]):
    """The payloads of a window.

    It has a component of each kind: the payloads as values, `mixed`, which is merged by exclusive or, and their count.
    """

    name, version = "hostile.columnar_aggregate", "1.0.0"
    mixed: ClassVar[Component] = Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor)

    def components(self) -> Mapping[str, Component]:
        return {"payloads": Component.values("int64"), "mixed": self.mixed, "count": Component.count()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"payloads": payloads, "mixed": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return as_lists(components["payloads"])

    def remove_events(self, state: State, payloads: Sequence[int]) -> State:
        payloads_kept = state["kept"]
        return {
            "payloads": state["payloads"] - len(payloads),
            "kept": {
                "payloads": without(payloads_kept["payloads"], payloads),
                "mixed": reduce(xor, payloads, payloads_kept["mixed"]),
                "count": payloads_kept["count"] - len(payloads),
            },
        }

    def deduct(self, state: State, other: State) -> State:
        return self.remove_events(state, other["kept"]["payloads"])


def as_lists(ragged: Ragged) -> Any:
    """Return an array with a list of values for each window of a `Ragged`."""
    values_by_window = np.split(ragged.values, ragged.offsets[1:-1])
    return as_objects(values.tolist() for values in values_by_window)


def as_objects(values: Iterable[Any]) -> Any:
    """Return an array of Python objects."""
    return np.fromiter(values, object)
