"""The subject of laws of array forms, and what such laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from muntin.columnar.merging import contributions, fold_rows, merge
from muntin.columnar.payloads import observed, observed_types
from muntin.columnar.results import results_of
from muntin.components import Component, Merge
from muntin.errors import ModuleContractError
from muntin.events import Event
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.schemas import Field
from muntin.testing import columns
from muntin.testing.laws.law import first_of
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.subject import CallError

_AS_DECLARED: Final = "return what components declares, or declare what it returns"
_ANY_PAYLOAD: Final = "make it work for the stream above, or say with payloads = ... what may come"


@contextmanager
def calling(what: str, remedy: str | None = _ANY_PAYLOAD) -> Iterator[None]:
    """Report what a writer's function raises, or what it returned that it must not.

    Args:
        what: The function.
        remedy: The remedy for an exception; None if the law that is tried says so.
    """
    try:
        yield
    except ModuleContractError as error:
        raise CallError(str(error), _AS_DECLARED) from error
    except Exception as error:
        raise CallError(f"{what} raised {type(error).__name__}: {error}", remedy) from error


@dataclass(frozen=True, slots=True)
class ArraySubject:
    """A columnar aggregate under test.

    Attributes:
        form: The aggregate.
        reads: Its input, with type variables bound.
    """

    form: ColumnarAggregate[Any, Any]
    reads: Field

    def present(self, members: Sequence[Event[object]]) -> list[Any]:
        """Return the payloads of members, but those that the aggregate leaves out."""
        return columns.present(self.form, self.reads, [event.payload for event in members])

    def components(self) -> dict[str, Component]:
        """Return its components."""
        with calling("components"):
            return dict(self.form.components())

    def lift(self, payloads: Sequence[object]) -> dict[str, Any]:
        """Lift payloads: return their contributions to each component."""
        with calling(f"lift, of {len(payloads)} payloads,"):
            return columns.lift(self.form, self.reads, payloads)

    def lift_arrays(self, arrays: Any, count: int) -> None:
        """Lift from arrays that are read-only."""
        with calling("lift", None):
            contributions(self.form, arrays, count)

    def keep(self, groups: Sequence[Sequence[object]]) -> dict[str, Any]:
        """Return its components for the payloads of some windows."""
        with calling("lift"):
            return columns.keep(self.form, self.reads, groups)

    def compute(self, kept: dict[str, Any], count: int, remedy: str | None = _ANY_PAYLOAD) -> list[Any]:
        """Return the results of some windows."""
        with calling("compute_results", remedy):
            return results_of(self.form, kept, count)

    def values(self, payloads: Sequence[Any], chosen: Callable[[Component], bool]) -> list[tuple[str, Component, Any]]:
        """Return values of some components, in which one payload and in which several had a part."""
        lifted = self.lift(payloads)
        parts = {name: part for name, part in self.components().items() if part.merge is not Merge.COLLECT}
        return [
            (name, part, self._values(part, lifted[name] if part.is_lifted else np.ones(len(payloads), "int64")))
            for name, part in parts.items()
            if chosen(part)
        ]

    def merge(self, component: Component, first: Any, second: Any, remedy: str | None = _ANY_PAYLOAD) -> Any:
        """Return two arrays of values merged."""
        with calling("the function of a component", remedy):
            return merge(component, first, second)

    def _values(self, component: Component, lifted: Any) -> object:
        with calling("the function of a component"):
            folded = [fold_rows(component, lifted[:end]) for end in range(2, len(lifted) + 1)]
        return np.concatenate([lifted, *folded])


class ArrayLaws(ModuleLaws):
    """Laws of what gets payloads as arrays, in the types that a query would bind."""

    @classmethod
    def reads(cls) -> Field:
        """Return the module's input, with type variables bound to the types of the first payloads."""
        return observed(cls.subject().input_field(), cls._first_payloads())

    @classmethod
    def variables(cls) -> dict[str, Field]:
        """Return the types of the type variables in the module's input."""
        return observed_types(cls.subject().input_field(), cls._first_payloads())

    @classmethod
    def arrays(cls, trial: ModuleTrial) -> ArraySubject:
        """Return the columnar aggregate under test."""
        return ArraySubject(trial.subject.module, cls.reads())

    @classmethod
    @cache
    def _first_payloads(cls) -> tuple[Any, ...]:
        return tuple(first_of(cls._payload_strategy(), 25))
