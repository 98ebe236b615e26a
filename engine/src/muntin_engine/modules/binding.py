"""A module as evaluators call it: with the way from an event's payload to its input, and plain results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from muntin import Module, RowOperator, StreamOperator
from muntin_engine.modules.meter import Meter
from muntin_engine.modules.plain_results import Plain, PlainRow, plain_of
from muntin_engine.modules.skipping import Accepted, BySource, Choosy, Present


def whole_payload(payload: object) -> object:
    """Return the payload as it is."""
    return payload


@dataclass(frozen=True, slots=True)
class Binding:
    """A module of the query with the way from an event's payload to its input, and what measures its calls.

    Attributes:
        module: The module.
        select: Makes the module's input of an event's payload.
        meter: Measures its calls.
        name: The name of its result, for triggers that read it.
        called: The object that evaluators call: the module, or a wrapper of one that does not accept every payload.
        plain: Makes its results plain data; None if they are already.
    """

    module: Module
    select: Callable[[Any], Any] = whole_payload
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
    name: str = ""

    called: Any = field(init=False, compare=False, repr=False)
    plain: Plain | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # An aggregate that skips rows gets a wrapper, which counts in its state how many it took. A module that is
        # called for each row or event is called only for those that it accepts: it needs none.
        is_called_per_row = isinstance(self.module, RowOperator | StreamOperator)
        skips_rows = isinstance(self.select, Present | Accepted | BySource) and not is_called_per_row
        # The class is frozen: only `object` may set its fields.
        object.__setattr__(self, "called", Choosy(self.module) if skips_rows else self.module)

        plain = plain_of(self.module.result_field())
        if plain is not None and self.module.is_operator:
            plain = PlainRow(plain)
        object.__setattr__(self, "plain", plain)
