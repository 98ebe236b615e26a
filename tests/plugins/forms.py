"""Helpers that run modules and their array forms, and compare the results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import isnan
from random import Random
from typing import Any

from muntin import ColumnarAggregate
from muntin.columnar.payloads import observed
from muntin.schemas import describe
from muntin.testing import Outcome, columns, try_laws


def form_of(module: Any, annotation: Any) -> ColumnarAggregate[Any, Any]:
    """Return the array form of a module for payloads of a type."""
    form = module.columnar_form(describe(annotation, "input"))
    assert isinstance(form, ColumnarAggregate)
    return form


def result(module: Any, payloads: Sequence[Any]) -> Any:
    """Return the result of a module, or of a form, for payloads that are added in one call."""
    return module.compute_result(module.add_events(module.create_state(), payloads))


def tree_result(module: Any, payloads: Sequence[Any], random: Random) -> Any:
    """Return the result for payloads that are dealt to up to five states at random, which are merged in any order."""
    states = [module.create_state() for _ in range(random.randint(1, 5))]
    for payload in random.sample(payloads, len(payloads)):
        place = random.randrange(len(states))
        states[place] = module.add_events(states[place], [payload])
    while len(states) > 1:
        random.shuffle(states)
        states.append(module.combine(states.pop(), states.pop()))
    return module.compute_result(states[0])


def results_at_once(form: ColumnarAggregate[Any, Any], groups: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the results for several groups in one call of `compute_results`; no group is empty."""
    reads = observed(form.input_field(), list(chain.from_iterable(groups)))
    return columns.results(form, reads, groups)


def equal_results(left: Any, right: Any) -> bool:
    """True for equal values of one type; NaN equals itself."""
    if type(left) is not type(right):
        return False
    return bool(left == right) or (isinstance(left, float) and isnan(left) and isnan(right))


def broken_laws(subject: Any, **attributes: Any) -> list[str]:
    """Return the message of each law that a module or a function breaks, or that cannot be tried on it.

    Args:
        subject: The module or function.
        attributes: Attributes that its laws class may have, such as `payloads`.
    """
    verdicts = list(try_laws(subject, **attributes))
    assert len(verdicts) > 3
    return [str(verdict) for verdict in verdicts if verdict.outcome in (Outcome.BROKEN, Outcome.UNTRIED)]
