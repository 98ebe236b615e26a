"""The parameters of a module, a trigger or a kind of windows: their types, the user's values, and examples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from itertools import chain, combinations, islice, product
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from muntin import Module
from muntin.definitions.methods import signature_of
from muntin.definitions.source_parsing import literal_of
from muntin.errors import ParameterError
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.errors import UsageError

M = TypeVar("M", bound=Module | Trigger | WindowSpecification)

_MOST_TRIES: Final = 500
"""The number of choices of examples that a constructor is tried with: it may be slow, and refuse them all."""

_EXAMPLES: Final[dict[Any, tuple[Any, ...]]] = {
    bool: (True,),
    int: (2, 1, 10, 60),
    float: (0.5, 1.0, 0.1, 10.0),
    str: ("a", "1 hour"),
    bytes: (b"a",),
    timedelta: (timedelta(hours=1),),
}
"""Examples of each type, the likeliest first: constructors refuse numbers that are too small or too large for them."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a constructor or a function.

    Attributes:
        name: Name.
        type: Annotation as text; empty if there is none.
        default: Default as text; None for a required parameter.
    """

    name: str
    type: str
    default: str | None

    def __str__(self) -> str:
        annotated = f"{self.name}: {self.type}" if self.type else self.name
        return annotated if self.default is None else f"{annotated} = {self.default}"


def parameters_of(callable: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a class's constructor or of a function.

    Example:
        >>> def clamp(value: float, low: float = 0.0) -> float: ...
        >>> [str(parameter) for parameter in parameters_of(clamp)]
        ['value: float', 'low: float = 0.0']
    """
    parameters: list[Parameter] = []
    for parameter in signature_of(callable).parameters.values():
        annotation = "" if parameter.annotation is parameter.empty else _spell(parameter.annotation)
        default = None if parameter.default is parameter.empty else repr(parameter.default)
        parameters.append(Parameter(parameter.name, annotation, default))
    return parameters


def parse_parameters(texts: Sequence[str]) -> dict[str, object]:
    """Parse parameters that a user typed as `name=value`; a value that is no Python literal is text.

    Raises:
        UsageError: A text has no `=`, or no name before it.

    Example:
        >>> parse_parameters(["q=0.9", "unit=metres"])
        {'q': 0.9, 'unit': 'metres'}
    """
    parameters: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{name!r} is not a parameter\n  expected: <name>=<value>, for example q=0.9")
        parameters[name] = _parse_value(value)
    return parameters


def make(cls: type[M], parameters: Mapping[str, object]) -> M:
    """Make a module, a trigger or windows with parameters.

    Raises:
        ParameterError: The constructor does not take the parameters.
    """
    try:
        return cls.named_by(parameters) if issubclass(cls, WindowSpecification) else cls(**parameters)
    except Exception as error:  # a constructor may raise anything
        raise ParameterError(cls.name, dict(parameters), str(error), str(signature_of(cls))) from error


def example_of(cls: type[M], user_parameters: Mapping[str, object] | None = None) -> tuple[M, dict[str, object]] | None:
    """Make an example of a module, a trigger or windows.

    Args:
        cls: Class of the example.
        user_parameters: Parameters that the user gives. Other required parameters are chosen by their types. If the
            user gives none, and the constructor refuses the required ones alone, one optional parameter is added.

    Returns:
        An instance and its parameters; None if no parameters were found that the constructor takes.

    Raises:
        ParameterError: No further parameter is required, and the constructor does not take the user's.
    """
    known_parameters = dict(user_parameters or {})
    required: list[inspect.Parameter] = []
    optional: list[inspect.Parameter] = []
    for parameter in signature_of(cls).parameters.values():
        if parameter.name in known_parameters:
            continue
        if _is_required(parameter):
            required.append(parameter)
        elif parameter.default is not parameter.empty and not known_parameters:
            optional.append(parameter)
    # First the required parameters alone; then with one optional parameter, as of a constructor that takes one of two.
    attempts = [required]
    for parameter in optional:
        attempts.append([*required, parameter])
    for chosen_parameters in attempts:
        examples = {parameter.name: list(_examples(parameter.annotation)) for parameter in chosen_parameters}
        for values in islice(_choices(examples), _MOST_TRIES):
            parameters = known_parameters | values
            try:
                return make(cls, parameters), parameters
            except ParameterError:
                continue
    if required:
        return None
    # Nothing is left to choose: the error of the constructor is about the user's own parameters.
    return make(cls, known_parameters), known_parameters


def _choices(examples: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """Yield choices of one example for each name.

    It begins with the first example of each; then come choices that differ from this in one name, in two, and so on.
    """
    first_choice = {name: values[0] for name, values in examples.items()}
    for count in range(len(examples) + 1):
        for names in combinations(examples, count):
            for values in product(*(examples[name][1:] for name in names)):
                yield first_choice | dict(zip(names, values, strict=True))


def _is_required(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter without a default; `*values` and `**options` may be empty."""
    is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not is_open


def _examples(annotation: object) -> Iterable[object]:
    """Return values that a parameter with an annotation may have, the likeliest first."""
    if annotation in _EXAMPLES:
        return _EXAMPLES[annotation]
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Literal:
        return arguments
    if origin in (Union, UnionType):
        return chain.from_iterable(_examples(argument) for argument in arguments if argument is not NoneType)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)
    if origin is tuple and arguments and Ellipsis not in arguments:
        # The first tuple has the first example of each of its types, the second one the second ones.
        return list(zip(*map(_examples, arguments), strict=False))
    if isinstance(origin, type) and issubclass(origin, Iterable) and len(arguments) == 1:
        return [[value] for value in _examples(arguments[0])]
    # Of an annotation that says nothing, try values of each kind.
    return (*_EXAMPLES[int], *_EXAMPLES[float], *_EXAMPLES[str])


def _parse_value(text: str) -> object:
    """Return the value of a Python literal, or the text itself if it is none."""
    try:
        return literal_of(text)
    except (ValueError, SyntaxError):
        return text


def _spell(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
