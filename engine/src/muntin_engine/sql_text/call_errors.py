"""Errors of the calls that a text of SQL stands for, in SQL: at their place, with what to write in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.plan.text_places import PlacedError
from muntin_engine.sql_text.message_spelling import CLAUSES, in_sql
from muntin_engine.sql_text.sql_aggregates import AGGREGATES
from muntin_engine.sql_text.sql_source import MarkedNodes, SqlError, SqlText, fact_and_advice, span_of
from muntin_engine.sql_text.step_forms import Steps

_NAMES_OF_SQL: Final = {module: name for name, (module, _) in reversed([*AGGREGATES.items()])}
"""The names of aggregates in SQL by their modules. A module with several names has the first one in `AGGREGATES`: in
reversed order that is the last one, which replaces the others."""


def call_error(source: SqlText, steps: Steps, error: QueryError) -> QueryError:
    """Turn an error that a call of the API raised into one about the text of SQL that the call was read from.

    Args:
        source: The text, which knows the nodes that steps were read from.
        steps: The steps that were read from the text, each a call of the API.
        error: The error that a call raised.
    """
    # The error names its place in the steps, such as `query[2].aggregate.p90`.
    place = ""
    message = error.message
    if isinstance(error, PlacedError):
        place = error.place
        message = error.fault
    node, within = _nodes_at(source, steps, place)

    # Code in the message, such as `clip="none"`, is spelled in SQL, such as `CLIP NONE`.
    fact, advice = fact_and_advice(message.spelled(in_sql))
    start = _start_of(source, error, node, within)
    sql_error = SqlError(source.text, start, fact, advice)
    sql_error.argument = error.argument
    sql_error.value = error.value
    return sql_error


def _nodes_at(source: SqlText, steps: Steps, place: str) -> MarkedNodes:
    """Return the nodes of the text that a part of the steps was read from.

    Only whole calls were marked with their nodes. For a part of a call, these are the nodes of the call.

    Args:
        source: The text.
        steps: The steps.
        place: The place of the part, such as `query[2].aggregate.p90`; empty for the query as a whole.
    """
    # The names on the way to the part, such as `2`, `aggregate` and `p90`; the first word is the query itself.
    _query, *names = place.replace("[", ".").replace("]", "").split(".")

    # Go down the data name by name, and keep the nodes of the last part that has any. The query as a whole has those of
    # its first call.
    data: Any = steps
    first_arguments = next(iter(steps[0].values()))
    nodes = source.nodes.get(id(first_arguments), MarkedNodes(node=None, within=None))
    for name in names:
        data = _part_of(data, name)
        nodes = source.nodes.get(id(data), nodes)
    return nodes


def _part_of(data: Any, name: str) -> Any:
    """Return a part of the data of steps: an entry of an object, or an item of a list.

    Args:
        data: The data.
        name: The name of the entry, or the number of the item.

    Returns:
        The data themselves if they have no such entry, and an empty object if they have no such item.
    """
    if name.isdigit():
        # The data of a join have the steps of the right stream under `right`. A place such as `query[1].join[0]` leaves
        # that word out.
        steps: Any = data.get("right") if isinstance(data, dict) else data
        has_step = isinstance(steps, list) and int(name) < len(steps)
        return steps[int(name)] if has_step else {}
    if not isinstance(data, dict):
        return data
    # The data of a union have the streams under `streams`, which a place such as `query[0].union.bikes` leaves out.
    streams = data.get("streams", {})
    return data.get(name, streams.get(name, data))


def _start_of(source: SqlText, error: QueryError, node: Any, within: Any) -> int:
    """Return the position in the text at which an error points.

    Args:
        source: The text.
        error: The error, whose value and argument may be words of the text.
        node: The node that stands for the call that failed; None if no node does.
        within: The node that has all words of the call.
    """
    low, high = span_of(within)
    if not high:  # the node has no place, so the words may be anywhere in the text
        low = 0
        high = len(source.text)
    for start in _starts(source, error, low, high):
        if start is not None:
            return start
    return low if node is None else span_of(node)[0]


def _starts(source: SqlText, error: QueryError, low: int, high: int) -> Iterator[int | None]:
    """Yield positions at which the words of an error may begin, the surest one first; None for a word not in the text.

    Args:
        source: The text.
        error: The error, whose value and argument may be words of the text.
        low: The position at which the call begins.
        high: The position after the call.
    """
    # The surest place of an argument such as `clip="none"` is the value in its clause, `CLIP NONE`. Next come the first
    # words of the clause, and then the value anywhere in the call.
    value = str(error.value) if isinstance(error.value, str | int) else ""
    if error.argument is not None:
        first_words_of_clause = CLAUSES.get(error.argument, f"{error.argument} =>")
        clause_start = source.place_of(first_words_of_clause, low, high)
        if clause_start is not None:
            yield source.place_of(value, low=clause_start, high=high)
        yield clause_start
    yield source.place_of(value, low, high)

    # Errors of modules name the module, with its version, and a column in parts of their messages.
    parts = _parts_of(error)
    module, _, _version = str(parts.get("module", "")).partition(" ")
    if module:
        name_in_sql = _NAMES_OF_SQL.get(module, module)  # such as AVG for `stats.average`
        yield source.place_of(f"{name_in_sql}(", low, high)
    yield source.place_of(module, low, high)
    yield source.place_of(str(parts.get("column", "")), low, high)

    # The call may be part of a larger query that has the value elsewhere.
    yield source.place_of(value, low=0, high=len(source.text))


def _parts_of(error: QueryError) -> dict[str, object]:
    """Return the parts of the message of an error, by their names.

    The message of a `PlacedError` is made of the message of the call's error, and of advice. Its parts are those of the
    message of the call's error.
    """
    message = error.fault.parts["message"] if isinstance(error, PlacedError) else error.message
    return dict(getattr(message, "parts", {}))
