"""A columnar aggregate that keeps every law: what the columnar faults are put on.

It lists the payloads of its window in order, and can do all that a columnar aggregate may.
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
    name, version = "hostile.columnar_aggregate", "1.0.0"
    mixed: ClassVar[Component] = Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor)

    def components(self) -> Mapping[str, Component]:
        return {"payloads": Component.values("int64"), "mixed": self.mixed, "count": Component.count()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"payloads": payloads, "mixed": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return listed(components["payloads"])

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


def listed(ragged: Ragged) -> Any:
    """Return an array of the lists of a `Ragged`."""
    return as_objects(group.tolist() for group in np.split(ragged.values, ragged.offsets[1:-1]))


def as_objects(values: Iterable[Any]) -> Any:
    """Return an array of Python objects."""
    return np.fromiter(values, object)
