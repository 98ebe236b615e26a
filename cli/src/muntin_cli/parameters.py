"""The parameters of a module or a trigger: what they are, what the user gives, and examples of what they may be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from itertools import combinations, islice, product
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from muntin import Module
from muntin.definitions.source_parsing import literal_of
from muntin.errors import ParameterError
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.errors import UsageError

M = TypeVar("M", bound=Module | Trigger | WindowSpecification)

_MOST_TRIES: Final = 500
_EXAMPLES: Final[dict[Any, tuple[Any, ...]]] = {
    bool: (True,),
    int: (2, 1, 10, 60),
    float: (0.5, 1.0, 0.1, 10.0),
    str: ("a", "1 hour"),
    bytes: (b"a",),
    timedelta: (timedelta(hours=1),),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a constructor or a function.

    Attributes:
        name: Its name.
        type: Its annotation as text; empty if there is none.
        default: Its default as text; None where it must be given.
    """

    name: str
    type: str
    default: str | None

    def __str__(self) -> str:
        annotated = f"{self.name}: {self.type}" if self.type else self.name
        return annotated if self.default is None else f"{annotated} = {self.default}"


def signature_of(callable: Callable[..., object]) -> inspect.Signature:
    """Return a signature, with types where the annotations can be read."""
    try:
        return inspect.signature(callable, eval_str=True)
    except NameError:  # an annotation for type checkers alone
        return inspect.signature(callable)


def parameters_of(callable: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a module's class or of a function.

    Example:
        >>> def clamp(value: float, low: float = 0.0) -> float: ...
        >>> [str(parameter) for parameter in parameters_of(clamp)]
        ['value: float', 'low: float = 0.0']
    """
    return [
        Parameter(
            parameter.name,
            "" if parameter.annotation is parameter.empty else _spell(parameter.annotation),
            None if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in signature_of(callable).parameters.values()
    ]


def parse_parameters(given: Sequence[str]) -> dict[str, object]:
    """Return parameters that a user typed as `name=value`; a value that is no Python literal is text.

    Raises:
        UsageError: One has no `=`.

    Example:
        >>> parse_parameters(["q=0.9", "unit=metres"])
        {'q': 0.9, 'unit': 'metres'}
    """
    pairs = [text.partition("=") for text in given]
    wrong = [name for name, equals, _ in pairs if not equals or not name.isidentifier()]
    if wrong:
        raise UsageError(f"{wrong[0]!r} is not a parameter\n  expected: <name>=<value>, for example q=0.9")
    return {name: _value(text) for name, _, text in pairs}


def make(cls: type[M], parameters: Mapping[str, object]) -> M:
    """Return a module or a trigger made with parameters.

    Raises:
        ParameterError: Its constructor does not take them.
    """
    try:
        return cls.named_by(parameters) if issubclass(cls, WindowSpecification) else cls(**parameters)
    except Exception as error:  # whatever a constructor may raise, it is the module's own
        raise ParameterError(cls.name, dict(parameters), str(error), str(signature_of(cls))) from error


def example_of(cls: type[M], given: Mapping[str, object] | None = None) -> tuple[M, dict[str, object]] | None:
    """Return a module or a trigger made with parameters that it accepts, and these; None if none are found.

    Args:
        cls: Its class.
        given: What is known; only what is required besides is looked for, by its type. Where nothing is known and
            the constructor does not do with what is required, one optional parameter is looked for as well.

    Raises:
        ParameterError: Nothing is required, and the constructor does not take what is given.
    """
    known = dict(given or {})
    missing = [parameter for parameter in signature_of(cls).parameters.values() if parameter.name not in known]
    wanted = [parameter for parameter in missing if _is_required(parameter)]
    optional = [parameter for parameter in missing if parameter.default is not parameter.empty]
    for added in ((), *((parameter,) for parameter in optional if not known)):
        examples = {parameter.name: list(_examples(parameter.annotation)) for parameter in (*wanted, *added)}
        for values in islice(_ways(examples), _MOST_TRIES):
            parameters = known | values
            try:
                return make(cls, parameters), parameters
            except ParameterError:
                continue
    return None if wanted else (make(cls, known), known)


def _ways(examples: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """Yield choices of one example each: the first of all, then those that differ in one place, in two, and so on."""
    first = {name: values[0] for name, values in examples.items()}
    for places in range(len(examples) + 1):
        for names in combinations(examples, places):
            for values in product(*(examples[name][1:] for name in names)):
                yield first | dict(zip(names, values, strict=True))


def _is_required(parameter: inspect.Parameter) -> bool:
    is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not is_open


def _examples(annotation: object) -> Iterable[object]:
    if annotation in _EXAMPLES:
        return _EXAMPLES[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return arguments
    if origin in (Union, UnionType):
        return [value for part in arguments if part is not NoneType for value in _examples(part)]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)
    if origin is tuple and arguments and Ellipsis not in arguments:
        return list(zip(*map(_examples, arguments), strict=False))
    if isinstance(origin, type) and issubclass(origin, Iterable) and len(arguments) == 1:
        return [[value] for value in _examples(arguments[0])]
    return [value for kind in (int, float, str) for value in _EXAMPLES[kind]]


def _value(text: str) -> object:
    try:
        return literal_of(text)
    except (ValueError, SyntaxError):
        return text


def _spell(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
