"""A module as evaluators call it: with a function from an event's payload to the module's input, and plain results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from muntin import Module, RowOperator, StreamOperator
from muntin_engine.modules.meter import Meter
from muntin_engine.modules.plain_results import Plain, PlainRow, plain_of
from muntin_engine.modules.skipping import Accepted, BySource, CountingModule, Present


def whole_payload(payload: object) -> object:
    """Return a payload as it is, for a module that reads all of it."""
    return payload


@dataclass(frozen=True, slots=True)
class Binding:
    """A module of the query as evaluators call it.

    Attributes:
        module: The module.
        select: The function from the payload of an event to the input of the module.
        meter: The meter of the time that its calls take.
        name: The name of its result, for triggers that read it.
        called: The object that evaluators call: the module, or a wrapper if it does not accept every payload.
        plain: The function that makes its results plain data; None if they are plain already.
    """

    module: Module
    select: Callable[[Any], Any] = whole_payload
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
    name: str = ""

    called: Any = field(init=False, compare=False, repr=False)
    plain: Plain | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Set `called`, the object to call, and `plain`, the function that makes results plain, once for all calls."""
        # An aggregate that skips rows gets a wrapper, which counts in the state how many rows were accepted. A module
        # that is called for each row or event needs no wrapper, as it is only called for those that it accepts.
        is_called_per_row = isinstance(self.module, RowOperator | StreamOperator)
        may_skip = isinstance(self.select, Present | Accepted | BySource)  # the selectors that may return `SKIPPED`
        skips_rows = may_skip and not is_called_per_row
        # The class is frozen, so only `object` can set its fields.
        object.__setattr__(self, "called", CountingModule(self.module) if skips_rows else self.module)

        plain = plain_of(self.module.result_field())
        if plain is not None and self.module.is_operator:
            plain = PlainRow(plain)
        object.__setattr__(self, "plain", plain)
