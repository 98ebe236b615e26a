"""The functions that texts of queries name: those that make windows, policies and triggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import muntin
import muntin.progress
import muntin.rows
import muntin.triggers
from muntin import correct, early

WINDOWS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin, name)
    for name in (
        *("tumbling", "hopping", "session", "snapshot", "calendar", "cumulate", "landmark", "trailing"),
        *("count_by_start", "count_by_end", "global_windows"),
    )
}
"""The functions that make windows, by name. `muntin.window` makes the others by the name of their kind."""

POLICIES: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: getattr(muntin.progress, name) for name in ("bounded_delay", "bounded_disorder", "punctuate_every")},
    **{name: getattr(muntin.progress, name) for name in ("ordered", "punctuated")},
    **{"correct": correct, "early": early},
}
"""The functions that make progress policies, lateness and emission, by name."""

TRIGGERS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin.triggers, name)
    for name in (
        *("after", "after_count", "all_of", "any_of", "each", "every", "every_count", "on_signal", "past_end"),
        *("past_part", "percentile", "reaches", "repeat", "until", "when"),
    )
}
"""The functions that make triggers, by name."""

ROWS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin.rows, name) for name in ("delta", "elapsed", "marker", "on_row")
}
"""The functions that make policies of row windows, by name."""

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**WINDOWS, **POLICIES, **TRIGGERS, **ROWS}
