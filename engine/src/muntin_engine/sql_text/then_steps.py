"""The steps of a stream after THEN: `THEN shift(INTERVAL '1' HOUR)` is a call of `shift` on the events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from muntin_engine.sql_text.sql_source import SqlText, did_you_mean
from muntin_engine.sql_text.sql_values import all_arguments, read_call, spell_name, spell_value, text_of

_CALLS_OF_COLUMNS: Final = ("with_columns", "select")
STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("shift", "extend", "shorten"), ("by",)),
    "set_duration": ("length",),
    "to_points": ("at",),
    "to_edges": (),
    "align_to": ("windows",),
    "shedding": (),
    "with_heartbeat": ("df",),
    "with_clock": ("clock",),
    "where": ("condition",),
    **dict.fromkeys(_CALLS_OF_COLUMNS, ()),
}
"""The steps of a stream that stand after THEN, and their arguments by place."""


def read_then_steps(clause: Any, source: SqlText) -> Iterator[dict[str, Any]]:
    """Yield the steps of one THEN clause, each a call of an event stream with its arguments by name.

    Raises:
        SqlError: A part of the clause is no such call, or has an argument twice.
    """
    for part in clause.expressions:
        call = read_call(part, source)
        if call is None:
            raise source.error(part, f"{text_of(part)} is no call", "write THEN shift(INTERVAL '1' HOUR)")
        # Advice, if the call is none that can stand here. `select` takes any number of names.
        advice = ""
        if call.name not in STEPS:
            advice = did_you_mean(call.name, STEPS)
        elif len(call.positional) > len(STEPS[call.name]) and call.name != "select":
            advice = f"it takes {', '.join(STEPS[call.name]) or 'names alone'}"
        if advice:
            raise source.error(part, f"{text_of(part)} is no step of a stream", advice)

        arguments: dict[str, Any] = dict(zip(STEPS[call.name], call.positional, strict=False))
        if call.name == "select":
            arguments["names"] = call.positional  # any number of columns to keep
        if call.name in _CALLS_OF_COLUMNS:
            # The names of such arguments are those that the columns get, not names of parameters.
            arguments["columns"] = call.named
        else:
            arguments = all_arguments(part, arguments, call.named, source)
        yield {call.name: source.mark(arguments, part)}


def write_then_step(call: str, arguments: Mapping[str, Any]) -> str:
    """Return the THEN clause for one step of a stream.

    Args:
        call: The name of the call.
        arguments: Its arguments by name.

    Raises:
        ValueError: There is no clause for the call.
    """
    if call not in STEPS:
        raise ValueError(f"{call}() of a stream has no clause")
    # Arguments by place; the names of columns to keep come after these.
    words: list[str] = []
    for name in STEPS[call]:
        if arguments.get(name) is not None:
            words.append(spell_value(arguments[name]))
    words += map(spell_name, arguments.get("names") or ())

    # Other arguments by name, and computed columns by the names that they get.
    by_name = {name: value for name, value in arguments.items() if name not in ("names", "columns", *STEPS[call])}
    by_name |= arguments.get("columns", {})
    words += [f"{spell_name(name)} => {spell_value(value)}" for name, value in by_name.items()]
    return f"THEN {spell_name(call)}({', '.join(words)})"
