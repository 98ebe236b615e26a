"""The load that a query is sized for, as it is given to `explain`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from muntin.axis import Duration, clock_ticks
from muntin.errors import QueryError

_SECOND = 1_000_000

EVERY: Final = "1 second"
"""The time between two micro-batches, unless a load says another."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a query.

    Attributes:
        keys: How many keys there are.
        rows_per_second: The rows that come in a second of event time, over all inputs.
        every: The seconds between two micro-batches.
        lifetime: How many seconds an event lasts, or a session does, on average; None if it is not known.
        payload_bytes: The bytes of what modules read of a row, or of the state that they keep in its place; None to
            have them follow from the types of the columns.
    """

    keys: int
    rows_per_second: float
    every: float = 1.0
    lifetime: float | None = None
    payload_bytes: float | None = None


def load_of(
    keys: object, rows_per_second: object, every: Duration, lifetime: Duration | None, payload_bytes: object
) -> Load:
    """Return the load that arguments say.

    Raises:
        QueryError: One of them is no number above zero, or keys or rows are missing.
        DurationError: A length of time cannot be read.
    """
    if keys is None or rows_per_second is None:
        parts = {"keys": keys, "rows_per_second": rows_per_second, "every": None if every == EVERY else every}
        parts |= {"lifetime": lifetime, "payload_bytes": payload_bytes}
        got = ", ".join(f"{name}={part!r:.80}" for name, part in parts.items() if part is not None)
        raise QueryError(
            f"a query is sized for a number of keys and of rows per second, got {got} alone\n"
            "  write both: explain(keys=10_000, rows_per_second=1_000); a query without keys has one"
        )
    return Load(
        round(_above_zero("keys", keys, 10_000, is_whole=True)),
        _above_zero("rows_per_second", rows_per_second, 1_000),
        _seconds("every", every),
        None if lifetime is None else _seconds("lifetime", lifetime),
        None if payload_bytes is None else _above_zero("payload_bytes", payload_bytes, 16),
    )


def loads_of(
    queries: Iterable[str],
    keys: object,
    rows_per_second: object,
    every: Duration,
    lifetime: object,
    payload_bytes: object,
) -> dict[str, Load]:
    """Return the loads of the queries of one pass by name; none if no part of a load is said.

    A part is the same for all of them, or a mapping from the name of a query. They share the micro-batches.

    Raises:
        QueryError: As for `load_of`, for a query.
        DurationError: A length of time cannot be read.
    """
    parts = (keys, rows_per_second, lifetime, payload_bytes)
    if every == EVERY and all(part is None for part in parts):
        return {}
    queries = list(queries)
    for part in parts:
        unknown = [name for name in part if name not in queries] if isinstance(part, Mapping) else []
        if unknown:
            raise QueryError(
                f"no query of this pass is named {unknown[0]!r}, for which a load is given\n"
                f"  the queries are {', '.join(map(repr, queries))}"
            )
    each: dict[str, list[Any]] = {
        name: [part.get(name) if isinstance(part, Mapping) else part for part in parts] for name in queries
    }
    return {name: load_of(keys, rows, every, lasts, size) for name, (keys, rows, lasts, size) in each.items()}


def _above_zero(name: str, value: object, example: int, *, is_whole: bool = False) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not 0 < number < float("inf") or (is_whole and number != int(number)):
        what = "a whole number" if is_whole else "a number"
        raise QueryError(f"{name}={value!r:.80} is not {what} above zero\n  write for example {name}={example:_}")
    return number


def _seconds(name: str, value: Duration) -> float:
    length = clock_ticks(value)
    if length <= 0 or isinstance(value, int):
        raise QueryError(
            f"{name}={value!r} is not a length of time above zero\n  write for example {name}='10 seconds'"
        )
    return int(length) / _SECOND
