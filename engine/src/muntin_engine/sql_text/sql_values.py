"""Lengths, parameters and policies: expressions of SQL as plain data, and back.

A length is text such as `10 minutes` or a number; a call such as `after_count(100)` is an object that has the name as
its `kind`, and its arguments by name; a column is its text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from sqlglot import exp

from muntin_engine.plan.text_functions import FUNCTIONS
from muntin_engine.sql_text.sql_source import SqlText

_MONTHS: Final = "CALENDAR has months and years: CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 month')"
_UNITS: Final = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
_PLAIN_LENGTH: Final = re.compile(rf"(-?\d+(?:\.\d+)?) ({'|'.join(_UNITS)})s?")
_LENGTH: Final = re.compile(rf"-?(?:\d+(?:\.\d+)? (?:{'|'.join(_UNITS)})s?(?: |$))+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_WORDS: Final = frozenset(
    word
    for line in (
        "and anti between case emit clip cross distinct end else evaluator false for forget from full group having",
        "in inner interval is join lateral late left like limit natural not null on or order outer right select",
        "semi table then timestamps true union using values watermark when where with",
    )
    for word in line.split()
)
"""Words that do not name columns unless they stand in backticks."""


def is_name(text: str) -> bool:
    """Return True for a name that can stand alone as a column without backticks, which `true` cannot."""
    return text.isidentifier() and text.lower() not in ("true", "false", "null")


def column_of(node: Any, *, after: int = 0) -> str:
    """Return the text of an expression: a column by its name without needless quotes, anything else as it is written.

    Args:
        node: The expression.
        after: The number of parts of a column's name to leave out at its beginning: 1 for the name of its stream.
    """
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        names = [part.name for part in node.parts[after:]]
        return ".".join(name if is_name(name) else spell_name(name) for name in names)
    return text_of(node)


def stream_of(column: Any) -> str:
    """Return the name before the first dot of a column, in small letters; empty if there is no dot.

    It is the name of a stream, or of a column that is a struct.
    """
    return str(column.parts[0].name).casefold() if len(column.parts) > 1 else ""


def text_of(node: Any) -> str:
    """Return the text that a node was read from; if that was not kept, the text that sqlglot writes for the node."""
    text = node.meta.get("text")
    return node.sql(dialect="spark") if text is None else str(text).strip()


def length_of(node: Any, source: SqlText) -> str | int | Decimal:
    """Return the length that a node is: an interval, a quoted text, or a number.

    Raises:
        SqlError: The node is no length.
    """
    value = value_of(node, source)
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | float):
        raise source.error(node, f"{text_of(node)} is no length", "write INTERVAL '10' MINUTES, or a number of ticks")
    return Decimal(str(value)) if isinstance(value, float) else value


def value_of(node: Any, source: SqlText) -> Any:  # noqa: PLR0911  # each is a literal of SQL
    """Return a literal, an interval, an array, a map, a call or a column as plain data.

    A call is an object with the name of the function as its `kind`; a column is its name.

    Raises:
        SqlError: The node is none of these.
    """
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Literal(is_string=True):
            return str(node.this)
        case exp.Literal():
            text = str(node.this)
            return int(text) if text.isdigit() else float(text)
        case exp.Neg(this=inner):
            return _negated(node, value_of(inner, source), source)
        case exp.Interval() | exp.Add():
            return _interval(node, source)
        case exp.VarMap():
            keys = value_of(node.args["keys"], source)
            if any(isinstance(key, list | dict) for key in keys):
                _refuse_value(node, source)
            return dict(zip(keys, value_of(node.args["values"], source), strict=True))
        case exp.Array() | exp.Tuple():
            return [value_of(part, source) for part in node.expressions]
        case exp.Column() | exp.Identifier() | exp.Var() | exp.Dot() if not node.find(exp.Anonymous, exp.Func):
            return name_of(node)
    call = read_call(node, source)
    if call is None:
        _refuse_value(node, source)
    by_place = _by_name(node, call.name, call.positional, source)
    return {"kind": call.name, **all_arguments(node, by_place, call.named, source)}


def _negated(node: Any, value: Any, source: SqlText) -> Any:
    """Return a value with the other sign.

    Args:
        node: The node of the sign and the value.
        value: The value after the sign.
        source: The text.

    Raises:
        SqlError: The value is neither a number nor a length.
    """
    if isinstance(value, str):  # a length, such as `1 hour`
        return value[1:] if value.startswith("-") else f"-{value}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse_value(node, source)
    return -value


def _refuse_value(node: Any, source: SqlText) -> NoReturn:
    """Raise the error about a node that is no value.

    Raises:
        SqlError: Always.
    """
    advice = "write a literal, an interval, an array or a call of literals"
    raise source.error(node, f"{text_of(node)} is no value here", advice)


class SqlCall(NamedTuple):
    """A call of a function.

    Attributes:
        name: The name of the function in small letters, after that of its plugin if it has one.
        positional: The values of the arguments that the call has by position.
        named: The values of the arguments by name.
    """

    name: str
    positional: list[Any]
    named: dict[str, Any]


def read_call(node: Any, source: SqlText) -> SqlCall | None:
    """Return a node as a call of a function, with its arguments as plain data; None if the node is no such call.

    A cast is none, though sqlglot has casts among the functions: SQL has other words for it.

    Raises:
        SqlError: An argument is no value, or is given twice.
    """
    prefix = ""
    if isinstance(node, exp.Dot):
        prefix = f"{name_of(node.this)}."
        node = node.expression
    if not isinstance(node, exp.Func) or isinstance(node, exp.Cast):
        return None
    if isinstance(node, exp.Anonymous):
        name = str(node.name)
        arguments = node.expressions
    else:  # a function that sqlglot knows
        name = str(node.meta.get("name") or node.sql_name())
        arguments = list(node.iter_expressions())
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in arguments:
        if isinstance(argument, exp.Kwarg):
            add_argument(named, argument.this.name.lower(), argument, source)
        else:
            positional.append(value_of(argument, source))
    return SqlCall(f"{prefix}{name}".lower(), positional, named)


def add_argument(values: dict[str, Any], name: str, argument: Any, source: SqlText) -> None:
    """Add the value of an argument by name to those of a call.

    Args:
        values: The values of the arguments by name so far, which are changed.
        name: The name of the argument.
        argument: The node of the argument, with its name.
        source: The text.

    Raises:
        SqlError: The call has another argument of this name, or the argument is no value.
    """
    if name in values:
        raise source.error(argument, f"{name} is given twice", "leave one of them out")
    values[name] = value_of(argument.expression, source)


def all_arguments(node: Any, by_place: Mapping[str, Any], named: Mapping[str, Any], source: SqlText) -> dict[str, Any]:
    """Return the arguments of a call by the names of their parameters.

    Args:
        node: The node of the call.
        by_place: The arguments that stand by place in the text, by the names of their parameters.
        named: The arguments that stand by name.
        source: The text.

    Raises:
        SqlError: An argument stands both by place and by name.
    """
    for name in named:
        is_by_place = name in by_place and by_place[name] != []  # `*triggers` is empty if no trigger stands by place
        if is_by_place:
            raise source.error(node, f"{name} is given by its place already", "leave one of them out")
    return {**by_place, **named}


def _signature(name: str) -> list[inspect.Parameter]:
    """Return the parameters of a function that makes windows, a trigger or a policy; none for an unknown function."""
    return list(inspect.signature(FUNCTIONS[name]).parameters.values()) if name in FUNCTIONS else []


def _by_name(node: Any, name: str, positional: list[Any], source: SqlText) -> dict[str, Any]:
    """Return arguments that have no names in the text, by the names of the parameters that they are for.

    Args:
        node: The node of the call.
        name: The name of the function.
        positional: The values of the arguments that the call has by position.
        source: The text.

    Raises:
        SqlError: The function has fewer parameters, or is unknown.
    """
    parameters = _signature(name)
    if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return {parameters[0].name: positional}  # a parameter such as `*triggers`
    if len(positional) > len(parameters):
        expected = ", ".join(parameter.name for parameter in parameters) or "arguments by name"
        fact = f"{name} takes {expected}"
        raise source.error(node, fact, f"write {name}(parameter => value)")
    names = [parameter.name for parameter in parameters]
    return dict(zip(names, positional, strict=False))


def name_of(node: Any) -> str:
    """Return the name of a column or a function without quotes, with the names before it and dots between them."""
    if isinstance(node, exp.Dot):
        return f"{name_of(node.this)}.{name_of(node.expression)}"
    if isinstance(node, exp.Column):
        return ".".join(part.name for part in node.parts)
    return str(node.name)


def _interval(node: Any, source: SqlText) -> str:
    """Return an interval, or a sum of intervals, as the text of a length of Muntin's, such as `1 hour 30 minutes`.

    Raises:
        SqlError: The node is no such length.
    """
    # The text is INTERVAL '1 hour 30 minutes', or INTERVAL '1' HOUR + INTERVAL '30' MINUTE. Without the word INTERVAL,
    # the quotes and the `+` it is a number, its unit, the next number, and so on.
    text = text_of(node)
    words = re.sub(r"(?i)\binterval\b|['\"+]", " ", text).lower().split()
    numbers = words[::2]
    units = words[1::2]
    lengths: list[str] = []
    for number, unit in zip(numbers, units, strict=False):
        plural = "" if number in ("1", "-1") else "s"
        lengths.append(f"{number} {unit.rstrip('s')}{plural}")
    is_length = bool(lengths) and all(_PLAIN_LENGTH.fullmatch(length) for length in lengths)
    if len(words) % 2 or not is_length:
        advice = f"write INTERVAL '10' MINUTES; units are {', '.join(_UNITS)}\n{_MONTHS}"
        raise source.error(node, f"{text} is no length of time", advice)
    return " ".join(lengths)


def spell_name(name: str) -> str:
    """Return one name as SQL has it: in backticks if it has other signs than letters, or is a word of SQL."""
    is_plain = _NAME.fullmatch(name) and name.lower() not in _WORDS
    return name if is_plain else "`" + name.replace("`", "``") + "`"


def spell_value(value: Any) -> str:
    """Return plain data as a literal or a call in SQL, from which `value_of` reads the same data.

    Raises:
        ValueError: There is no literal for the data.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float():
            return repr(value)
        case Decimal():
            return str(value)
        case str():
            return spell_length(value) if _LENGTH.fullmatch(value) else spell_text(value)
        case Mapping() if "kind" in value:
            return spell_call(value["kind"], {name: part for name, part in value.items() if name != "kind"})
        case Mapping():
            pairs = [f"{spell_value(name)}, {spell_value(part)}" for name, part in value.items()]
            return f"MAP({', '.join(pairs)})"
        case Sequence():
            return f"ARRAY({', '.join(map(spell_value, value))})"
    raise ValueError(f"{value!r} has no literal in SQL")


def spell_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call in SQL.

    Args:
        name: The name of the function.
        arguments: The arguments by name.
    """
    # Arguments stand by position as long as each parameter has one, and the others by name.
    by_name = dict(arguments)
    positional: list[Any] = []
    for parameter in _signature(name):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional = list(by_name.pop(parameter.name, ()))
        elif parameter.name not in by_name or parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            break
        else:
            positional.append(by_name.pop(parameter.name))
    words = [spell_value(value) for value in positional]
    words += [f"{parameter_name} => {spell_value(value)}" for parameter_name, value in by_name.items()]
    return f"{name}({', '.join(words)})"


def spell_text(value: str) -> str:
    """Return text as a literal of SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def spell_length(length: str | int | Decimal) -> str:
    """Return a length in SQL: a number as it is, or an interval."""
    if not isinstance(length, str):
        return str(length)
    plain = _PLAIN_LENGTH.fullmatch(length)
    return f"INTERVAL '{plain[1]}' {plain[2].upper()}" if plain else f"INTERVAL '{length}'"
