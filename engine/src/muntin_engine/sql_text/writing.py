"""The steps of a query as a text of SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin.errors import QueryError
from muntin_engine.api.arguments import columns_by_name
from muntin_engine.sql_text import modules as aggregates
from muntin_engine.sql_text.clauses import EMIT_WORDS, JOINS, REFINEMENTS, STEPS
from muntin_engine.sql_text.joins import ALWAYS, never_null
from muntin_engine.sql_text.selecting import WINDOW_COLUMNS
from muntin_engine.sql_text.steps import Steps, unpacked
from muntin_engine.sql_text.streams import EVENT_ARGUMENTS
from muntin_engine.sql_text.values import spell_length, spell_name, spell_value
from muntin_engine.sql_text.windows import EVENTS, follows_rows, spelled

_IN_SQL: Final = {text: name for name, text in WINDOW_COLUMNS.items()}


@dataclass
class _Text:
    """A stream as it is written.

    Attributes:
        table: What stands after TABLE.
        base: The arguments of `events` or `as_events`.
        steps: The calls after that.
    """

    table: str
    base: Mapping[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """The keys, as expressions."""
        given = self.base.get("key") or []
        return [given] if isinstance(given, str) else list(given)

    def call(self, window: Mapping[str, Any] | None, *, last_where: str | None = None) -> str:
        """Return the window function that reads the stream."""
        name: str = EVENTS
        places: list[Any] = []
        named: dict[str, Any] = {}
        if window is not None:
            name, places, named = spelled(window["kind"], {k: part for k, part in window.items() if k != "kind"})
        parts = [self._table(last_where), *self._times(), *map(spell_value, places)]
        parts += [f"{key.upper()} => {spell_value(part)}" for key, part in named.items()]
        for key, part in self.base.items():
            if key in EVENT_ARGUMENTS and key != "order":  # ORDER BY stands beside the table
                value = _column(part) if EVENT_ARGUMENTS[key] == "column" else spell_value(part)
                parts.append(f"{key.upper()} => {value}")
        return f"{name}({', '.join(parts)})"

    def _times(self) -> list[str]:
        times = [self.base[name] for name in ("at", "start", "end") if self.base.get(name) is not None]
        return [f"DESCRIPTOR({', '.join(map(_column, times))})"] if times else []

    def _table(self, last_where: str | None) -> str:
        words = [f"TABLE {self.table}"]
        if self.keys:
            keys = ", ".join(map(_column, self.keys))
            words.append(f"PARTITION BY {keys}" if len(self.keys) == 1 else f"PARTITION BY ({keys})")
        if order := self.base.get("order"):
            columns = order if isinstance(order, list) else [order]
            spelled = ", ".join(map(_column, columns))
            words.append(f"ORDER BY {spelled}" if len(columns) == 1 else f"ORDER BY ({spelled})")
        if (delay := self.base.get("watermark")) is not None:
            is_call = isinstance(delay, Mapping)
            words.append(f"WATERMARK {spell_value(delay)}" if is_call else f"WATERMARK DELAY OF {spell_length(delay)}")
        late = self.base.get("late_policy")
        if isinstance(late, Mapping):
            words.append(f"LATE CORRECT WITHIN {spell_length(late['allowed'])}")
        elif late is not None:
            words.append(f"LATE {late.upper()}")
        steps = self.steps[:-1] if last_where is not None else self.steps
        for one in steps:
            ((call, arguments),) = one.items()
            if call not in STEPS:
                raise _unwritten(f"{call}() of a stream has no clause")
            words.append(f"THEN {_step(call, arguments)}")
        return " ".join(words)


def _step(call: str, arguments: Mapping[str, Any]) -> str:
    places = [spell_value(arguments[name]) for name in STEPS[call] if arguments.get(name) is not None]
    places += [spell_name(name) for name in arguments.get("names") or ()]
    arguments = {name: part for name, part in arguments.items() if name not in ("names", "columns")} | dict(
        arguments.get("columns", {})
    )
    named = [
        f"{spell_name(name)} => {spell_value(part)}" for name, part in arguments.items() if name not in STEPS[call]
    ]
    return f"{spell_name(call)}({', '.join([*places, *named])})"


def write(steps: list[dict[str, Any]]) -> str:
    """Return the SQL of a query, from which the same steps are read.

    Args:
        steps: The steps, as they are read.

    Raises:
        QueryError: SQL has no words for something; the message says for what.
    """
    return _written(unpacked(steps))


def _written(steps: Steps) -> str:
    stream: _Text | None = None
    rest = list(steps)
    try:
        while rest:
            ((call, arguments),) = rest.pop(0).items()
            if call == "events":
                stream = _Text(_table(arguments), arguments)
            elif call == "union":
                stream = _union(arguments)
            elif stream is None:
                raise _unwritten(f"a query does not begin with {call}()")
            elif call in ("window", "aggregate", "apply", "join"):
                text, rest = _query(stream, [{call: arguments}, *rest])
                if not rest:
                    return text
                (base,) = [one["as_events"] for one in rest[:1] if "as_events" in one] or [None]
                if base is None:
                    raise _unwritten(f"{next(iter(rest[0]))}() of a query has no clause")
                stream, rest = _Text(f"({text})", base), rest[1:]
            else:
                stream.steps.append({call: arguments})
    except ValueError as error:
        if isinstance(error, QueryError):
            raise
        raise _unwritten(str(error)) from error
    raise _unwritten("a stream of events alone is no query")


def _table(arguments: Mapping[str, Any]) -> str:
    table = arguments["df"]
    if isinstance(table, Mapping):
        return f"({table['sql']})"
    return ".".join(map(spell_name, str(table).split(".")))


def _union(arguments: Mapping[str, Any]) -> _Text:
    parts = []
    for name, steps in arguments["streams"].items():
        one = _stream(steps)
        condition = _last_where(one)
        where = "" if condition is None else f" WHERE {condition}"
        parts.append(f"SELECT * FROM {one.call(None, last_where=condition)} AS {spell_name(name)}{where}")
    first = _stream(next(iter(arguments["streams"].values())))
    united = _Text(f"({' UNION ALL '.join(parts)})")
    united.keys_of = first.keys  # type: ignore[attr-defined]
    return united


def _stream(steps: list[dict[str, Any]]) -> _Text:
    """Return the steps of a stream that is joined or united, as text."""
    ((call, arguments),) = steps[0].items()
    if call == "events":
        return _Text(_table(arguments), arguments, list(steps[1:]))
    place = next((n for n, one in reversed(list(enumerate(steps))) if "as_events" in one), None)
    if place is None:
        raise _unwritten(f"a stream that begins with {call}() within another")
    return _Text(f"({_written(steps[:place])})", steps[place]["as_events"], list(steps[place + 1 :]))


def _last_where(stream: _Text) -> str | None:
    return stream.steps[-1]["where"]["condition"] if stream.steps and "where" in stream.steps[-1] else None


def _query(stream: _Text, rest: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return a query of windows, of an operator or of a join, and the steps after it."""
    ((call, arguments),) = rest.pop(0).items()
    if call == "join":
        return _join(stream, arguments, rest)
    window: Mapping[str, Any] | None = None
    policies: dict[str, Any] = {}
    if call == "window":
        policies = dict(arguments)
        window = policies.pop("specification")
        ((call, arguments),) = rest.pop(0).items()
    keys = list(getattr(stream, "keys_of", stream.keys))
    extent = "window" if window is not None else "lifetime"
    modules = arguments["modules"] if call == "aggregate" else {"": arguments["operator"]}
    calls = {name: _module(one) for name, one in modules.items()}
    after = _taken(rest, "where", "select")
    having = [step["where"]["condition"] for step in after if "where" in step]
    chosen = [_selected(step["select"]) for step in after if "select" in step]
    natural = {name: name for name in (*keys, extent, *(calls if call == "aggregate" else ()))}
    columns = chosen[-1] if chosen else natural
    is_direct = call == "aggregate" and all(columns.get(name) == name for name in calls)
    is_direct &= all(text in calls or text in keys or text in _IN_SQL for text in columns.values())
    inner = columns if is_direct else natural
    items = [_named(_expression(text, calls), name) for name, text in inner.items()]
    items += [calls[""]] if call == "apply" else []
    condition = None if window is not None and follows_rows(window["kind"]) else _last_where(stream)
    text = f"SELECT {', '.join(items)}\nFROM {stream.call(window, last_where=condition)}"
    text += "" if condition is None else f"\nWHERE {condition}"
    if window is not None and call == "aggregate":
        text += f"\nGROUP BY {', '.join([*map(_column, keys), 'window_start', 'window_end'])}"
    both = " AND ".join(f"({one})" for one in having) if having[1:] else "".join(having)
    if not is_direct and (having or chosen):
        outer = [_named(_expression(one, {}), name) for name, one in columns.items()] if chosen else ["*"]
        rows = f"\nWHERE {_expression(both, {})}" if having else ""
        return f"SELECT {', '.join(outer)}\nFROM (\n{text}{_clauses(policies)}\n){rows}", rest
    if having:
        text += f"\nHAVING {_expression(both, calls)}"
    return text + _clauses(policies), rest


def _selected(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns that are selected, by name."""
    return {name: name for name in arguments.get("names") or ()} | dict(arguments.get("columns", {}))


def _taken(rest: list[dict[str, Any]], *calls: str) -> list[dict[str, Any]]:
    """Take the next steps of some kinds away, and return them."""
    found = []
    while rest and not rest[0].keys().isdisjoint(calls):
        found.append(rest.pop(0))
    return found


def _join(left: _Text, arguments: Mapping[str, Any], rest: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    right = _stream(arguments["right"])
    how = JOINS.get(arguments.get("how", "inner"))
    if how is None:
        raise _unwritten(f"a join with how={arguments['how']!r} is none of SQL's")
    names = ("l", "r")
    windows = arguments.get("same_window")
    columns_of_both = [pair for pair in zip(left.keys, right.keys, strict=True) if pair[1] != ALWAYS]
    equals = "<=>"  # null is a key like any other
    not_null = {"where": {"condition": never_null(_column(key) for _, key in columns_of_both)}}
    if columns_of_both and right.steps[-1:] == [not_null]:
        equals = "="
        right.steps.pop()
    pairs = [f"{_qualified(a, 'l')} {equals} {_qualified(b, 'r')}" for a, b in columns_of_both]
    pairs += [_qualified(a, "l") for a, b in zip(left.keys, right.keys, strict=True) if b == ALWAYS]
    if windows is not None and (windows["kind"] not in ("tumbling", "calendar") or {"hop", "reach"} & windows.keys()):
        raise _unwritten("a join with same_window= of windows that overlap")
    if windows is not None:
        pairs += [f"l.{column} = r.{column}" for column in ("window_start", "window_end")]
    if on := arguments.get("on"):
        columns = [
            _qualified(text, name) for side, name in zip(("left", "right"), names, strict=True) for text in on[side]
        ]
        given = [f"{key} => {spell_value(part)}" for key, part in on.get("parameters", {}).items()]
        pairs.append(f"{on['function']}({', '.join([*columns, *given])})")
    if not pairs:
        raise _unwritten("a join without keys has no condition")
    found = {key: _qualified(key, "l") for key in left.keys} | {"lifetime": "lifetime"}
    for side, name in zip(("left_columns", "right_columns"), names, strict=True):
        given_columns = columns_by_name(side, arguments.get(side, ()))
        found |= {key: _qualified(text, name) for key, text in given_columns.items()}
    after = _taken(rest, "where", "select")
    conditions = [step["where"]["condition"] for step in after if "where" in step]
    chosen = [_selected(step["select"]) for step in after if "select" in step]
    selected = chosen[-1] if chosen else {name: name for name in found}
    read = {*left.keys, "lifetime"}
    for text in (*selected.values(), *conditions):
        read |= {text, *(column.name for column in _columns_in(_parsed(text)))}
    if lost := [name for name in found if name not in read]:
        raise _unwritten(f"the column {lost[0]} is asked for and not selected")
    items = [_named(_of_streams(text, found), name) for name, text in selected.items()]
    sides = []
    for one, name in zip((left, right), names, strict=True):
        bare = _Text(one.table, {k: v for k, v in one.base.items() if k != "key"}, one.steps)
        sides.append(f"{bare.call(windows)} AS {name}")
    text = f"SELECT {', '.join(items)}\nFROM {sides[0]}\n{how} {sides[1]}\nON {' AND '.join(pairs)}"
    if conditions:
        written = [_of_streams(condition, found) for condition in conditions]
        text += f"\nWHERE {written[0] if len(written) == 1 else ' AND '.join(f'({one})' for one in written)}"
    return text + _clauses({"emit": arguments["emit"]} if "emit" in arguments else {}), rest


def _of_streams(text: str, columns: Mapping[str, str]) -> str:
    """Return an expression over the results of a join with the columns of the streams in it, as SQL has them."""
    if text in columns:
        return columns[text]
    made = _parsed(text)
    for column in _columns_in(made):
        name = ".".join(part.name for part in column.parts)
        if name in columns:
            column.replace(_parsed(columns[name]))
    return str(made.sql(dialect="spark"))


def _columns_in(tree: Any) -> list[Any]:
    """Return the columns that an expression reads."""
    return [tree] if isinstance(tree, exp.Column) else list(tree.find_all(exp.Column))


def _qualified(text: str, alias: str) -> str:
    """Return an expression over one stream with its name before each column."""
    made = _parsed(text)
    for column in _columns_in(made):
        column.set("table", exp.to_identifier(alias))
    return str(made.sql(dialect="spark"))


def _module(call: Mapping[str, Any]) -> str:
    """Return the call of a module: an aggregate of SQL where it is one."""
    columns = [_column(one) for one in call.get("columns", ())]
    name, parameters = call["module"], dict(call.get("parameters", {}))
    if (name, parameters) == aggregates.ROW_COUNT and not columns:
        return "COUNT(*)"
    if (name, parameters) == aggregates.DISTINCT_COUNT and columns:
        return f"COUNT(DISTINCT {', '.join(columns)})"
    known = aggregates.spelled(name, parameters)
    if known is not None and columns:
        return f"{known}({', '.join(columns)})"
    given = [f"{spell_name(key)} => {spell_value(part)}" for key, part in parameters.items()]
    return f"{name}({', '.join([*columns, *given])})"


def _column(text: str) -> str:
    return spell_name(text) if text.isidentifier() else text


def _parsed(text: str) -> Any:
    return exp.maybe_parse(_column(text), dialect="spark", copy=True)


def _expression(text: str, calls: Mapping[str, str]) -> str:
    """Return an expression over results, with the calls of modules in the place of their names."""
    if text in _IN_SQL or text in calls:
        return calls.get(text) or _IN_SQL[text]
    marks = {f"__{place}__": call for place, call in enumerate(calls.values())}
    by_name = dict(zip(calls, marks, strict=True))
    made = _parsed(text)
    for column in [made] if isinstance(made, exp.Column) else list(made.find_all(exp.Column)):
        if ".".join(part.name for part in column.parts) in _IN_SQL:
            column.replace(exp.column(_IN_SQL[".".join(part.name for part in column.parts)]))
        elif column.name in by_name and not column.table:
            column.set("this", exp.to_identifier(by_name[column.name]))
    written = made.sql(dialect="spark")
    for mark, call in marks.items():
        written = written.replace(mark, call)
    return str(written)


def _named(expression: str, name: str) -> str:
    return expression if expression.strip("`") == name else f"{expression} AS {spell_name(name)}"


def _clauses(policies: Mapping[str, Any]) -> str:
    found = []
    for name, value in policies.items():
        if name not in _WRITTEN:
            raise _unwritten(f"{name}= of windows has no clause")
        found.append(_WRITTEN[name](value))
    return "".join(f"\n{clause}" for clause in found)


def _emission(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"EMIT {EMIT_WORDS[value]}"
    trigger, refinement = value["trigger"], value.get("refinement", "")
    if not isinstance(refinement, str) or (refinement and refinement not in REFINEMENTS):
        raise _unwritten("a refinement of your own")
    is_period = trigger["kind"] == "every" and set(trigger) == {"kind", "period"}
    when = f"EVERY {spell_length(trigger['period'])}" if is_period else spell_value(trigger)
    return f"EMIT EARLY {when}" + (f" {refinement.upper()}" if refinement else "")


_WRITTEN: Final[Mapping[str, Callable[[Any], str]]] = {
    "emit": _emission,
    "clip": lambda value: f"CLIP {value.upper()}",
    "timestamps": lambda value: f"TIMESTAMPS {value.upper()}",
    "forget_keys_after": lambda value: f"FORGET KEYS AFTER {spell_length(value)}",
    "evaluator": lambda value: f"EVALUATOR {value.upper()}",
}


def _unwritten(said: str) -> QueryError:
    return QueryError(f"this query has no text in SQL: {said}\n  write it as data: query.to_dict()")
