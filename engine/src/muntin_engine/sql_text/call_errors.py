"""Errors of the calls that a text of SQL stands for, in SQL: at their place, with what to write in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.plan.text_places import PlacedError
from muntin_engine.sql_text.message_spelling import CLAUSES, in_sql
from muntin_engine.sql_text.sql_aggregates import AGGREGATES
from muntin_engine.sql_text.sql_source import MarkedNodes, SqlError, SqlText, span_of
from muntin_engine.sql_text.step_forms import Steps

_NAMES_OF_SQL: Final = {module: name for name, (module, _) in reversed([*AGGREGATES.items()])}
"""The aggregates of SQL by their modules. Of several of one module it is the first, which is put in last."""


def call_error(source: SqlText, steps: Steps, error: QueryError) -> QueryError:
    """Return an error about the calls of steps as one of the text that they were read from.

    Args:
        source: The text, which knows the nodes that steps were read from.
        steps: The steps.
        error: The error that a call raised.
    """
    place = ""
    message = error.message
    if isinstance(error, PlacedError):
        place = error.place
        message = error.fault
    node, within = _nodes_at(source, steps, place)
    fact, _, advice = message.spelled(in_sql).partition("\n")
    start = _start_of(source, error, node, within)
    sql_error = SqlError(source.text, start, fact, advice.replace("\n  ", "\n").strip())
    sql_error.argument = error.argument
    sql_error.value = error.value
    return sql_error


def _nodes_at(source: SqlText, steps: Steps, place: str) -> MarkedNodes:
    """Return the nodes of a place in the data, or of the last part on the way there that has any.

    Args:
        source: The text.
        steps: The steps.
        place: The place, such as `query[2].aggregate.p90`; empty for the query as a whole.

    Returns:
        The node that the step was read from, and the node that has all of its words.
    """
    # Down the data, name by name. A part that was not marked is a piece of the last one that was.
    data: Any = steps
    first_arguments = next(iter(steps[0].values()))
    nodes = source.nodes.get(id(first_arguments), MarkedNodes(None, None))
    for name in place.replace("[", ".").replace("]", "").split(".")[1:]:
        data = _part_of(data, name)
        nodes = source.nodes.get(id(data), nodes)
    return nodes


def _part_of(data: Any, name: str) -> Any:
    """Return the part of steps with a name or a number; the data itself if there is no such part."""
    if name.isdigit():
        steps: Any = data.get("right") if isinstance(data, dict) else data
        has_step = isinstance(steps, list) and int(name) < len(steps)
        return steps[int(name)] if has_step else {}
    if not isinstance(data, dict):
        return data
    return data.get(name, data.get("streams", {}).get(name, data))


def _start_of(source: SqlText, error: QueryError, node: Any, within: Any) -> int:
    """Return the place of the words that an error is about."""
    low, high = span_of(within)
    if not high:  # the node has no place
        low = 0
        high = len(source.text)
    for start in _starts(source, error, low, high):
        if start is not None:
            return start
    return low if node is None else span_of(node)[0]


def _starts(source: SqlText, error: QueryError, low: int, high: int) -> Iterator[int | None]:
    """Yield where the words of an error may begin, the surest place first; None for words that the text lacks."""
    # The value behind the word of its clause, the word itself, or the value anywhere in the call.
    value = str(error.value) if isinstance(error.value, str | int) else ""
    if error.argument is not None:
        clause = source.place_of(CLAUSES.get(error.argument, f"{error.argument} =>"), low, high)
        if clause is not None:
            yield source.place_of(value, clause, high)
        yield clause
    yield source.place_of(value, low, high)

    # Errors of modules name the module and a column in parts of their messages.
    parts = _parts_of(error)
    module = str(parts.get("module", "")).partition(" ")[0]  # without the version
    yield source.place_of(f"{_NAMES_OF_SQL.get(module, module)}(", low, high) if module else None
    yield source.place_of(module, low, high)
    yield source.place_of(str(parts.get("column", "")), low, high)
    yield source.place_of(value, 0, len(source.text))


def _parts_of(error: QueryError) -> dict[str, object]:
    """Return the parts of the message of an error, by their names."""
    message = error.fault.parts["message"] if isinstance(error, PlacedError) else error.message
    return dict(getattr(message, "parts", {}))
