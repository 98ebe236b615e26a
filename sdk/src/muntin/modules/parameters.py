"""Parameters of modules: checked against annotations, and as text that a checkpoint can keep."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from types import CodeType, FunctionType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from muntin.definitions.methods import signature_of
from muntin.definitions.source_parsing import literal_of
from muntin.errors import ParameterError, message_of
from muntin.errors.messages import Argument, ErrorMessage

_ACCEPTED: Final[Mapping[Any, tuple[type, ...]]] = {
    bool: (bool,),
    int: (Integral,),
    float: (Real,),
    str: (str,),
    bytes: (bytes,),
    Decimal: (Decimal, Integral),
    date: (date,),
    timedelta: (timedelta,),
    None: (NoneType,),
    NoneType: (NoneType,),
}
"""The classes of values that fit an annotation. Values of any other annotation are not checked."""


def check_parameters(cls: Any, parameters: Mapping[str, object]) -> None:
    """Refuse parameters that the constructor of a module does not take, or that plainly are of another type.

    Args:
        cls: The module class.
        parameters: The values of the parameters, by name.

    Raises:
        ParameterError: The constructor does not take a parameter, or needs one that is missing, or a value is of
            another type.
    """
    signature = signature_of(cls)
    try:
        signature.bind(**parameters)
        check_types(signature, parameters)
    except TypeError as error:
        # The error names the parameter that is wrong; if a name is misspelt, the closest one is suggested.
        suggestions = ""
        for name in parameters:
            if name in signature.parameters:
                continue
            close_names = difflib.get_close_matches(name, signature.parameters, n=1)
            if close_names:
                suggestions += f"; did you mean {close_names[0]}, not {name}?"
        reason = ErrorMessage("{fault}{suggestions}", fault=message_of(error), suggestions=suggestions)
        raise ParameterError(cls.name, parameters, reason, spell_signature(cls)) from error


def spell_signature(cls: type) -> str:
    """Return the signature of a constructor for a message, without its return annotation."""
    return str(signature_of(cls).replace(return_annotation=inspect.Signature.empty))


def check_types(signature: inspect.Signature, parameters: Mapping[str, object]) -> None:
    """Refuse a value that plainly does not fit the annotation of its parameter, such as text for a float.

    Raises:
        TypeError: A value does not fit.

    Example:
        >>> def smooth(alpha: float): ...
        >>> check_types(inspect.signature(smooth, eval_str=True), {"alpha": "0.5"})
        Traceback (most recent call last):
            ...
        TypeError: alpha must be a float, got '0.5'; write alpha=0.5
    """
    for name, value in parameters.items():
        # A parameter that goes into `**options` has no annotation of its own, also if it is named `options`.
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.kind is parameter.VAR_KEYWORD:
            continue
        annotation = parameter.annotation
        if _fits(value, annotation):
            continue
        spelled_type = f"a {annotation.__name__}" if isinstance(annotation, type) else f"of type {annotation}"
        remedy = _remedy(name, value, annotation)
        raise TypeError(
            ErrorMessage(
                "{name} must be {type}, got {value!r}{remedy}",
                name=name,
                type=spelled_type,
                value=value,
                remedy=remedy,
            )
        )


def _fits(value: object, annotation: object) -> bool:
    """Return True if a value fits an annotation, or if the annotation is not one that can be checked."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _fits(value, arguments[0])
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    accepted = _ACCEPTED.get(annotation) if isinstance(annotation, type | None) else None
    if accepted is None:
        return True  # such as a class of the module writer's: no value is plainly wrong
    if isinstance(value, bool):
        return annotation is bool  # to Python a bool is an int
    return isinstance(value, accepted)


def _remedy(name: str, value: object, annotation: object) -> ErrorMessage:
    """Return the advice to write `alpha=0.5` where a query has the text `'0.5'`; empty for any other value.

    Args:
        name: The name of the parameter.
        value: The value that does not fit.
        annotation: The annotation of the parameter.
    """
    try:
        literal = literal_of(value) if isinstance(value, str) else None
    except (ValueError, SyntaxError):
        return ErrorMessage()
    if literal is None or not _fits(literal, annotation):
        return ErrorMessage()
    return ErrorMessage("; write {argument}", argument=Argument(name, literal))


_PLAIN: Final = (bool, int, float, str, bytes, type(None))

_BEING_HASHED: Final[ContextVar[tuple[FunctionType, ...]]] = ContextVar("_BEING_HASHED", default=())
"""The functions that `_hash_of` is hashing: one of them may be in its own closure, or in that of an inner function."""


def spell(value: object) -> str:
    """Return a parameter as text that is equal in every process, without addresses or the order of a set.

    A function that can be imported is spelled by its name. Any other function, such as one of a script or a lambda, is
    spelled by its name and a hash of its code, its defaults and the values in its closure, so that other code of the
    same name is spelled differently. Globals count by their names alone.

    Example:
        >>> spell({"labels": {"b", "a"}, "of": len})
        "{'labels': {'a', 'b'}, 'of': <builtins.len>}"
    """
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, _PLAIN):
        return repr(value)
    # Dataclasses come before functions: one that can be called is spelled by its fields, which decide what it does.
    collection = _spell_collection(value)
    if collection is not None:
        return collection
    if isinstance(value, FunctionType) and not _can_be_imported(value):
        function_name = value.__qualname__.rpartition(".")[2]
        outer_functions = _BEING_HASHED.get()
        if any(value is function for function in outer_functions):
            return f"<{function_name}>"  # it calls itself, or is called back by a function in its closure
        return f"<{function_name} {_hash_of(value)}>"
    if hasattr(value, "__qualname__"):
        return _spell_name(value)
    if type(value).__repr__ is object.__repr__:
        return _spell_name(type(value))  # its `repr` would show the address
    return repr(value)


def _spell_name(code: Any) -> str:
    """Return the name of a class, a function or a method, with the name of its Python module."""
    module = getattr(code, "__module__", None)  # methods of built-in types have none
    return f"<{module}.{code.__qualname__}>" if module else f"<{code.__qualname__}>"


def _spell_collection(value: object) -> str | None:
    """Return a collection or a dataclass as text, each of its parts by `spell`; None for any other value."""
    if isinstance(value, Mapping):
        entries = [f"{spell(name)}: {spell(part)}" for name, part in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, set | frozenset):
        # The order of a set differs from process to process, as each process hashes text with its own seed.
        return "{" + ", ".join(sorted(map(spell, value))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spell, value)) + "]"
    if is_dataclass(value) and not isinstance(value, type):
        arguments = [f"{field.name}={spell(getattr(value, field.name))}" for field in fields(value)]
        return f"{type(value).__qualname__}({', '.join(arguments)})"
    return None


def _can_be_imported(function: FunctionType) -> bool:
    """Return True if another process finds the same function under its name."""
    # Another process has another `__main__`.
    if function.__module__ == "__main__":
        return False
    # A lambda, an inner function or one that was redefined is not found under its qualified name.
    imported: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        imported = getattr(imported, name, None)
    return imported is function


def _hash_of(function: FunctionType) -> str:
    """Return a short hash of the code of a function, with the values of its closure and its defaults."""
    values: list[object] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a variable that is not assigned yet has an empty cell
            values.append(cell.cell_contents)
    values += function.__defaults__ or ()
    values.append(function.__kwdefaults__ or {})
    token = _BEING_HASHED.set((*_BEING_HASHED.get(), function))
    try:
        text = f"{_spell_code(function.__code__)} {spell(values)}"
    finally:
        _BEING_HASHED.reset(token)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _spell_code(code: CodeType) -> str:
    """Return compiled code as text, without line numbers and file names: a function that only moved is the same."""
    constants: list[str] = []
    for constant in code.co_consts:
        # The code of an inner function is a constant of the outer one.
        constants.append(_spell_code(constant) if isinstance(constant, CodeType) else spell(constant))
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames}"
