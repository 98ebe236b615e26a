"""Code in messages, in the words of SQL: arguments as clauses, windows as functions, columns as expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Final

from muntin.axis import Axis, TimeLength
from muntin.errors.messages import (
    Alternatives,
    Argument,
    Arguments,
    Call,
    Code,
    Earlier,
    ParameterName,
    Seconds,
    StreamCall,
    WrittenExpression,
)
from muntin.windows.specification import WrittenWindows
from muntin_engine.plan.arguments_as_text import KIND, write_value
from muntin_engine.sql_text.clauses import EMIT_WORDS, JOINS
from muntin_engine.sql_text.sql_values import spell_length, spell_name, spell_value
from muntin_engine.sql_text.stream_reading import EVENT_ARGUMENTS
from muntin_engine.sql_text.window_functions import spell_windows

CLAUSES: Final[Mapping[str, str]] = {
    "at": "DESCRIPTOR",
    "clip": "CLIP",
    "emit": "EMIT",
    "evaluator": "EVALUATOR",
    "forget_keys_after": "FORGET KEYS AFTER",
    "key": "PARTITION BY",
    "late_policy": "LATE",
    "on": "ON",
    "order": "ORDER BY",
    "refinement": "EMIT EARLY",
    "timestamps": "TIMESTAMPS",
    "watermark": "WATERMARK",
}
"""The words that begin the clauses of SQL, by the parameters that they are; other parameters go by their names."""

_CLAUSES_OF_TABLES: Final = ("key", "order", "watermark", "late_policy")
"""The parameters of `events` that are clauses of its table."""

_SIDES: Final = {"left_columns": "l", "right_columns": "r"}
"""The streams of a join as examples name them, by the parameter that names their columns."""


def in_sql(code: Code) -> str:
    """Return code in an error message, which is written for Python, as it is written in SQL.

    Example:
        >>> in_sql(Argument("clip", "none")), in_sql(WrittenExpression("CAST({} AS double)", "km"))
        ('CLIP NONE', 'CAST(km AS double)')
        >>> in_sql(Call("tumbling", "10 minutes"))
        "TUMBLE(TABLE ..., INTERVAL '10' MINUTE)"
    """
    match code:
        case Argument() | Arguments() | Alternatives() | ParameterName():
            return _arguments(code)
        case Call():
            return _call(code)
        case StreamCall():
            stream = "" if code.stream is None else f"{_call(code.stream)} "
            return f"{stream}THEN {_call(code.call)}"
        case WrittenWindows():
            return _windows(code)
        case Earlier():
            return "within TABLE (SELECT ...)"
    return _expression(code)


def _arguments(code: Argument | Arguments | Alternatives | ParameterName) -> str:
    """Return an argument, several arguments, alternatives for an argument, or the name of a parameter in SQL."""
    match code:
        case Argument():
            return _argument(code.name, code.value)
        case Alternatives():
            return code.between.join(_argument(code.name, value) for value in code.values)
        case Arguments():
            return ", ".join(f"{name} => {_value(value)}" for name, value in code.values) or "none"
        case ParameterName():
            return _parameter(code.name)


def _expression(code: Code) -> str:
    """Return an expression or a length in Spark's SQL; any other code as its text."""
    match code:
        case WrittenExpression():
            return code.sql
        case Seconds():
            return f"INTERVAL '{code.count}' SECOND"
    return str(code)


def _parameter(name: str) -> str:
    """Return the words by which SQL names a parameter: those that begin its clause, or its name as in `UNIT =>`."""
    if name in _SIDES:
        return f"SELECT {_SIDES[name]}.km"
    return CLAUSES.get(name, f"{name.upper()} =>")


def _argument(name: str, value: object) -> str:
    """Return an argument as the clause that stands for it, or by its name, as in `UNIT => 'ms'`."""
    if name in _CLAUSES_OF_ARGUMENTS:
        return _CLAUSES_OF_ARGUMENTS[name](value)
    if EVENT_ARGUMENTS.get(name) == "column" and isinstance(value, str):
        return f"{name.upper()} => {spell_name(value)}"
    return f"{name.upper()} => {_value(value)}"


def _value(value: object) -> str:
    """Return a value, or a piece of a query (`Code`), in SQL; if SQL has no literal for it, as Python writes it."""
    if isinstance(value, EllipsisType):
        return "..."  # the message leaves the value open
    if isinstance(value, Code):
        return in_sql(value)
    try:
        return spell_value(value)
    except ValueError:
        return repr(value)


def _columns(value: object) -> str:
    """Return the columns that an argument names: one, several in parentheses, or `...` as a message may leave it."""
    if isinstance(value, EllipsisType):
        return "..."
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_columns, value))})"
    return spell_name(str(value)) if str(value).isidentifier() else str(value)


def _call(call: Call) -> str:
    """Return a call in SQL: windows are a function of a table, `events` is a table, other calls have their names."""
    if call.function == "expression":  # the text of an expression is SQL as it is
        return _value(call.arguments[0])
    if call.function == "events":
        return _events(call)
    if call.function == "early":
        return _emission(call)
    words = [_part(argument) for argument in call.arguments]
    name = spell_windows(call.function, parameters={}).function
    if name != call.function:  # a function of windows
        words.insert(0, "TABLE ...")
    return f"{name}({', '.join(words)})"


def _part(argument: object) -> str:
    """Return an argument of a call: its value alone, or with its name if the message has that."""
    if isinstance(argument, Argument):
        return f"{argument.name} => {_value(argument.value)}"
    return _value(argument)


def _events(call: Call) -> str:
    """Return a call of `events` as the clauses and arguments of a table; without arguments, as words for a table."""
    if not call.arguments:
        return "the table"
    # An argument without a name is `...`: arguments that the message leaves out.
    arguments = [argument for argument in call.arguments if isinstance(argument, Argument)]
    words = [_argument(argument.name, argument.value) for argument in arguments]
    if all(argument.name in _CLAUSES_OF_TABLES for argument in arguments):
        return " ".join(["TABLE ...", *words])
    return ", ".join(words)


def _emission(value: object) -> str:
    """Return `EMIT` with its policy, or with a trigger and a refinement."""
    if not isinstance(value, Call):
        return f"EMIT {EMIT_WORDS.get(str(value), str(value).upper())}"
    words = ["EMIT EARLY"]
    for part in value.arguments:
        if isinstance(part, Argument) and part.name == "refinement":
            words.append(str(part.value).upper())
        elif isinstance(part, Argument):  # the period: no other argument goes by name
            words.append(f"EVERY {_value(part.value)}")
        else:
            words.append(_value(part))
    return " ".join(words)


def _lateness(value: object) -> str:
    """Return `LATE` with its policy."""
    if isinstance(value, Call):
        return f"LATE CORRECT WITHIN {_value(value.arguments[0])}"
    return f"LATE {str(value).upper()}"


def _watermark(value: object) -> str:
    """Return `WATERMARK` with a delay or a policy."""
    return f"WATERMARK {_call(value)}" if isinstance(value, Call) else f"WATERMARK DELAY OF {_value(value)}"


def _keyword(value: object) -> str:
    """Return a value as one word in capitals, such as the name of a policy; arguments of a call are left out."""
    return str(value).partition("(")[0].upper()


def _clause(name: str, spell: Callable[[object], str]) -> Callable[[object], str]:
    """Return a function that spells the clause for an argument: the words of the clause, then the value.

    Args:
        name: The name of the parameter.
        spell: Returns the value in SQL.
    """
    return lambda value: f"{CLAUSES[name]} {spell(value)}"


def _columns_of_side(parameter: str) -> Callable[[object], str]:
    """Return a function that spells the columns of one side of a join.

    Args:
        parameter: The parameter of `join` that names the columns, and so says the side.
    """

    def spell(columns: object) -> str:
        names = columns if isinstance(columns, list | tuple) else [columns]
        qualified = [f"{_SIDES[parameter]}.{_columns(column)}" for column in names]
        return f"SELECT {', '.join(qualified)}"

    return spell


_CLAUSES_OF_ARGUMENTS: Final[Mapping[str, Callable[[object], str]]] = {
    "at": lambda value: f"DESCRIPTOR({_columns(value)})",
    "clip": _clause("clip", _keyword),
    "emit": _emission,
    "evaluator": _clause("evaluator", _keyword),
    "forget_keys_after": _clause("forget_keys_after", _value),
    "how": lambda value: JOINS.get(str(value), str(value).upper()),
    "key": _clause("key", _columns),
    "late_policy": _lateness,
    "order": _clause("order", _columns),
    "refinement": lambda value: f"EMIT EARLY ... {str(value).upper()}",
    "timestamps": _clause("timestamps", _keyword),
    "watermark": _watermark,
    **{name: _columns_of_side(name) for name in _SIDES},
}
"""Functions that spell an argument as the clause that stands for it, by the name of the parameter."""


def _windows(written: WrittenWindows) -> str:
    """Return windows of a message as a window function of SQL."""
    specification = written.specification
    # Lengths of windows are ticks. On an axis of time they are written as time: INTERVAL '1' HOUR.
    if written.axis is Axis.TIME:
        specification = specification.with_lengths(TimeLength)
    data = write_value(specification)
    parameters = {name: value for name, value in data.items() if name != KIND}
    call = spell_windows(data[KIND], parameters)
    words = ["TABLE ...", *map(_length_or_value, call.positional)]
    words += [f"{name.upper()} => {_length_or_value(value)}" for name, value in call.by_name.items()]
    return f"{call.function}({', '.join(words)})"


def _length_or_value(value: object) -> str:
    """Return an argument of windows in SQL: as a length if it is a text that begins with a number."""
    return spell_length(value) if isinstance(value, str) and value[:1].isdigit() else _value(value)
