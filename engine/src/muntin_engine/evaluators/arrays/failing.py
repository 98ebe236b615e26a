"""Find the window, or row, on which a columnar form fails, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.arrays.results import form_results
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.exchange.bound_form import BoundForm


def failing_window(form: BoundForm, place: int, windows: StretchTable) -> int | None:
    """Return the place of a window whose result a form fails to compute by itself; None if there is none.

    Cost: some twenty calls of the form, on half of the windows, a quarter and so on.

    Args:
        form: The form.
        place: Its place among those of the query.
        windows: All windows.
    """
    return first_failing(len(windows), lambda start, stop: form_results(form, place, windows.take(slice(start, stop))))


def failing_row(form: BoundForm, inputs: Sequence[pa.Array], length: int) -> int | None:
    """Return the place of a row that a form fails to lift by itself; None if there is none."""
    return first_failing(
        length, lambda start, stop: form.lift([part.slice(start, stop - start) for part in inputs], stop - start)
    )


def first_failing(length: int, call: Callable[[int, int], object]) -> int | None:
    """Return a place for which a call fails by itself; None if there is none.

    Args:
        length: How many places there are.
        call: Takes the places from one up to another.
    """

    def fails(start: int, stop: int) -> bool:
        try:
            call(start, stop)
        except ModuleFailedError:
            return True
        return False

    low, high = 0, length
    while high - low > 1:
        half = (low + high) // 2
        if fails(low, half):
            high = half
        else:
            low = half
    return low if length and fails(low, high) else None
