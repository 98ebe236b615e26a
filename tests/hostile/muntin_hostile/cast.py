"""Who plays: every fault on every shape it fits, by laws class and law."""

from __future__ import annotations

from typing import Any

from muntin import Module, testing
from muntin.testing.laws.conformance import Conformance

from . import columnar, columnar_faults, faults, honest

HONEST: dict[type[Conformance], type[Module]] = {
    testing.AggregateLaws: honest.HonestAggregate,
    testing.OperatorLaws: honest.HonestOperator,
    testing.TimeSensitiveAggregateLaws: honest.HonestTimeSensitiveAggregate,
    testing.TimeSensitiveOperatorLaws: honest.HonestTimeSensitiveOperator,
    testing.IncrementalAggregateLaws: honest.HonestIncrementalAggregate,
    testing.IncrementalOperatorLaws: honest.HonestIncrementalOperator,
    testing.TimeSensitiveIncrementalAggregateLaws: honest.HonestTimeSensitiveIncrementalAggregate,
    testing.TimeSensitiveIncrementalOperatorLaws: honest.HonestTimeSensitiveIncrementalOperator,
    testing.ColumnarAggregateLaws: columnar.HonestColumnarAggregate,
}
"""A module that keeps all laws, per laws class."""


def _hostile(fault: type[faults.Fault], shape: type[Module]) -> type[Module]:
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in fault.__name__)
    attributes: dict[str, Any] = {"name": f"{shape.name}{name}", "__module__": __name__}
    return type(f"{fault.__name__}{shape.__name__.removeprefix('Honest')}", (fault, shape), attributes)


HOSTILE: dict[tuple[type[Conformance], str], list[type[Module]]] = {}
"""The modules that break a law, per laws class and law."""

for _laws, _shape in HONEST.items():
    for _fault in faults.Fault.__subclasses__():
        if hasattr(_laws, _fault.breaks) and _laws is not testing.ColumnarAggregateLaws:
            HOSTILE.setdefault((_laws, _fault.breaks), []).append(_hostile(_fault, _shape))

for _columnar in columnar_faults.ColumnarFault.__subclasses__():
    HOSTILE.setdefault((testing.ColumnarAggregateLaws, _columnar.breaks), []).append(_columnar)
