"""Every fault on every shape of modules that it fits, by shape and law."""

from __future__ import annotations

from typing import Any

from muntin import Module, testing
from muntin.testing.laws.conformance import Conformance

from . import columnar, columnar_faults, faults, honest

HONEST: dict[type[Module], type[Conformance]] = {
    honest.HonestAggregate: testing.AggregateLaws,
    honest.HonestOperator: testing.OperatorLaws,
    honest.HonestTimeSensitiveAggregate: testing.AggregateLaws,
    honest.HonestTimeSensitiveOperator: testing.OperatorLaws,
    honest.HonestIncrementalAggregate: testing.IncrementalAggregateLaws,
    honest.HonestIncrementalOperator: testing.IncrementalOperatorLaws,
    honest.HonestTimeSensitiveIncrementalAggregate: testing.IncrementalAggregateLaws,
    honest.HonestTimeSensitiveIncrementalOperator: testing.IncrementalOperatorLaws,
    columnar.HonestColumnarAggregate: testing.ColumnarAggregateLaws,
}
"""Modules that keep all laws, one per shape, with their laws class."""


def _hostile(fault: type[faults.Fault], shape: type[Module]) -> type[Module]:
    """Return a class with a fault in front of an honest module: `NeverRemovesIncrementalAggregate`, for example."""
    name_of_fault = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in fault.__name__)
    attributes: dict[str, Any] = {"name": f"{shape.name}{name_of_fault}", "__module__": __name__}
    return type(f"{fault.__name__}{shape.__name__.removeprefix('Honest')}", (fault, shape), attributes)


HOSTILE: dict[tuple[type[Module], str], list[type[Module]]] = {}
"""The modules that break a law, per shape and law."""

for _shape, _laws in HONEST.items():
    if _laws is testing.ColumnarAggregateLaws:
        continue  # its faults are classes of their own, below
    _laws_of_shape = {f"test_{law.replace(' ', '_')}" for law in testing.laws_applying_to(_shape())}
    for _fault in faults.Fault.__subclasses__():
        if _fault.breaks in _laws_of_shape:
            HOSTILE.setdefault((_shape, _fault.breaks), []).append(_hostile(_fault, _shape))

for _columnar_fault in columnar_faults.ColumnarFault.__subclasses__():
    HOSTILE.setdefault((columnar.HonestColumnarAggregate, _columnar_fault.breaks), []).append(_columnar_fault)
