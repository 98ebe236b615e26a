"""Messages that keep the code they show as parts, so that a query in SQL is refused in the words of SQL.

A message is a template and its parts. A part is a name, a number or text, or it is *code*: an argument, a call, a
column or windows, as a query has them. `str` of a message spells the code in Python; `ErrorMessage.spelled` spells it
in another language, and need not search a sentence for code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Self


class Code:
    """A part of a message that is code of a query; `str` spells it in Python."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Argument(Code):
    """An argument of a call, by its name.

    Attributes:
        name: The name of the parameter.
        value: The value: a value of Python, code, or `...` where it does not matter.

    Example:
        >>> print(Argument("clip", "none"), Argument("change", ...), Argument("watermark", Call("punctuated")))
        clip='none' change=... watermark=punctuated()
    """

    name: str
    value: object

    def __str__(self) -> str:
        return f"{self.name}={_in_python(self.value)}"


@dataclass(frozen=True, slots=True)
class Alternatives(Code):
    """Several values of one argument, of which a query has one.

    Attributes:
        name: The name of the parameter.
        values: The values.
        between: The words between two of them.
        is_named: True to show the name in Python, before the first value.

    Example:
        >>> print(Alternatives("late_policy", ("side", "drop")))
        late_policy='side' or 'drop'
        >>> print(Alternatives("clip", ("full", "left"), between=", ", is_named=False))
        'full', 'left'
    """

    name: str
    values: tuple[object, ...]
    between: str = " or "
    is_named: bool = True

    def __str__(self) -> str:
        values = self.between.join(map(_in_python, self.values))
        return f"{self.name}={values}" if self.is_named else values


@dataclass(frozen=True, slots=True)
class Arguments(Code):
    """The arguments of a call, by their names.

    Attributes:
        values: The names with their values.

    Example:
        >>> print(Arguments((("p", 0.5), ("exact", True))), Arguments(()))
        p=0.5, exact=True none
    """

    values: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return ", ".join(str(Argument(name, value)) for name, value in self.values) or "none"


class Call(Code):
    """A call of a function.

    Attributes:
        function: The name of the function.
        arguments: The arguments: one that is given by name is an `Argument`, and `...` stands for any others.

    Example:
        >>> print(Call("events", ..., Argument("order", "offset")), Call("tumbling", "10 minutes"))
        events(..., order='offset') tumbling('10 minutes')
    """

    __slots__ = ("arguments", "function")

    def __init__(self, function: str, *arguments: object) -> None:
        self.function = function
        self.arguments = arguments

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(_in_python, self.arguments))})"


@dataclass(frozen=True, slots=True)
class ParameterName(Code):
    """A parameter of a call, whatever its value.

    Example:
        >>> print(ParameterName("change"))
        change=
    """

    name: str

    def __str__(self) -> str:
        return f"{self.name}="


@dataclass(frozen=True, slots=True)
class StreamCall(Code):
    """A call on a stream of events.

    Attributes:
        call: The call.
        stream: The call that makes the stream; None where any stream is meant.

    Example:
        >>> print(StreamCall(Call("with_clock")), StreamCall(Call("with_clock"), Call("events", ...)))
        .with_clock() events(...).with_clock()
    """

    call: Call
    stream: Call | None = None

    def __str__(self) -> str:
        return f"{self.stream or ''}.{self.call}"


@dataclass(frozen=True, slots=True)
class Earlier(Code):
    """The end of an advice to change the input before a call reads it.

    Example:
        >>> print("rename the column", Earlier("events"))
        rename the column before events()
    """

    call: str

    def __str__(self) -> str:
        return f"before {self.call}()"


@dataclass(frozen=True, slots=True)
class Seconds(Code):
    """The advice to write a length of time, where a query has a bare number that does not say how long it is.

    Example:
        >>> print(Seconds("5"))
        '5 seconds' or timedelta(seconds=5)
    """

    count: str

    def __str__(self) -> str:
        return f"'{self.count} seconds' or timedelta(seconds={self.count})"


@dataclass(frozen=True, slots=True)
class WrittenExpression(Code):
    """An expression in SQL over one column, which a query in Python writes as text.

    Attributes:
        template: The expression, with braces in the place of the column.
        column: The name of the column.

    Example:
        >>> print(WrittenExpression("CAST({} AS double)", "km"), WrittenExpression("timestamp_millis({})", "sent at"))
        'CAST(km AS double)' 'timestamp_millis(`sent at`)'
    """

    template: str
    column: str

    @property
    def sql(self) -> str:
        """The expression in SQL."""
        if self.column.isidentifier():
            return self.template.format(self.column)
        quoted_name = "`" + self.column.replace("`", "``") + "`"
        return self.template.format(quoted_name)

    def __str__(self) -> str:
        return repr(self.sql)


class ErrorMessage(str):
    """A text that knows the parts it was made from; as a text, it has its code in Python.

    Args:
        template: The message, with the names of parts in braces. Without parts it is the message itself.
        parts: The parts, by name. A part may be a message too.

    Example:
        >>> message = ErrorMessage("{module} refuses {clip}", module="stats.sum", clip=Argument("clip", "none"))
        >>> print(message)
        stats.sum refuses clip='none'
        >>> print(message.spelled(lambda code: code.name.upper()))
        stats.sum refuses CLIP
    """

    template: str
    parts: Mapping[str, Any]

    def __new__(cls, template: str = "", /, **parts: object) -> Self:
        """Fill a template with its parts; the text remembers both."""
        # Without parts the template is the text itself, which may have braces of its own.
        message = super().__new__(cls, template.format(**parts) if parts else template)
        message.template = template
        message.parts = parts
        return message

    @classmethod
    def joined(cls, between: str, messages: Sequence[ErrorMessage]) -> ErrorMessage:
        """Return several messages as one.

        Args:
            between: The words between two of them.
            messages: The messages.
        """
        # Each message is a part of the whole, so that the code in it can be spelled in other words, too.
        parts = {f"message_{number}": message for number, message in enumerate(messages)}
        names_in_braces = ["{" + name + "}" for name in parts]
        return cls(between.join(names_in_braces), **parts)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return the arguments that make an equal message, for pickling and copying."""
        return (self.template,), dict(self.parts)

    def spelled(self, spell: Callable[[Code], str]) -> str:
        """Return the message with its code in other words.

        Args:
            spell: The function from a piece of code to its words.
        """
        if not self.parts:
            return str(self)
        spelled_parts = {name: _spelled(part, spell) for name, part in self.parts.items()}
        return self.template.format(**spelled_parts)


def _spelled(part: object, spell: Callable[[Code], str]) -> object:
    """Return a part of a message with the code in it in other words; any other part stays as it is."""
    if isinstance(part, ErrorMessage):
        return part.spelled(spell)
    return spell(part) if isinstance(part, Code) else part


def _in_python(value: object) -> str:
    """Return a value or a piece of code as Python has it."""
    if isinstance(value, EllipsisType):
        return "..."
    return str(value) if isinstance(value, Code) else repr(value)
