"""The stub of one module or function, as source."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Sequence

from muntin import Function, Module, Needs
from muntin.axis import Duration
from muntin.rows import RowPolicy
from muntin.schemas import Field, Struct, Variable, spell
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.offered import Offered, documentation_of
from muntin_cli.parameters import signature_of
from muntin_cli.stubs.annotations import LEFT_OUT, Imports, spell_annotation, spell_default

_RESERVED = frozenset({"name", "inputs"})


def stub_of_module(cls: type[Module], imports: Imports) -> str:
    """Return a function that names a module in a query: its columns by place, its parameters by name.

    The inputs of a module that reads several go by name as well, each with the columns of a stream.
    """
    parameters = list(signature_of(cls).parameters.values())
    told = [_parameter(parameter, imports) for parameter in parameters]
    if several := cls.input_fields():
        head = _head(_identifier(cls.name), [], [*map(_input, several), *told], "_ModuleCall")
        doc = _docstring(cls, f"Reads {spell(cls.input_field())}, returns {spell(cls.result_field())}.{_needed(cls)}")
        given = [_quoted(cls.name), *(f"{part.name}={part.name}" for part in several), *map(_passed, parameters)]
        return f"{head}\n{doc}\n    return _module({', '.join(given)})"
    ways, name = _ways(cls.input_field()), _identifier(cls.name)
    heads = [_head(name, _columns(way), told, "_ModuleCall") for way in ways]
    types = f"Reads {spell(cls.input_field())}, returns {spell(cls.result_field())}."
    doc = _docstring(cls, f"{types}{_needed(cls)}")
    passed = [_passed(parameter) for parameter in parameters]
    if len(heads) == 1:
        return f"{heads[0]}\n{doc}\n    return _module({', '.join([_quoted(cls.name), *ways[0], *passed])})"
    overloads = [f"@_overload\n{head} ..." for head in heads]
    whole = _head(name, ["*inputs: _ColumnLike"], told, "_ModuleCall", is_star=False)
    return "\n".join(
        [*overloads, whole, doc, f"    return _module({', '.join([_quoted(cls.name), '*inputs', *passed])})"]
    )


def stub_of_function(function: Function[..., object], imports: Imports) -> str:
    """Return a function that calls a registered function on columns."""
    del imports
    names = [_column_name(name) for name in signature_of(function.implementation).parameters]
    head = _head(_identifier(function.name), _columns(names), [], "_Column")
    doc = _docstring(function, f"Returns {spell(function.result)}. Register it first: functions(spark).")
    call = ", ".join([_quoted(function.sql_name), *names])
    return f"{head}\n{doc}\n    from pyspark.sql.functions import call_function\n\n    return call_function({call})"


def stub_of_trigger(cls: type[Trigger], imports: Imports) -> str:
    """Return a function that makes a trigger with its parameters."""
    parameters = list(signature_of(cls).parameters.values())
    head = _head(_identifier(cls.name), [], [_parameter(parameter, imports) for parameter in parameters], "_Trigger")
    call = ", ".join([_quoted(cls.name), *(_passed(parameter) for parameter in parameters)])
    return f"{head}\n{_docstring(cls, 'A trigger for early results.')}\n    return _named({call})"


def stub_of_window(cls: type[WindowSpecification], imports: Imports) -> str:
    """Return a function that makes windows of a kind; a length may be text, and a policy of rows a number too."""
    parameters = list(signature_of(cls).parameters.values())
    written = {**dict.fromkeys(cls.lengths, Duration), "evicts": RowPolicy | Duration, "triggers": RowPolicy | Duration}
    told = [
        _parameter(parameter.replace(annotation=written.get(parameter.name, parameter.annotation)), imports)
        for parameter in parameters
    ]
    head = _head(_identifier(cls.name), [], told, "_WindowSpecification")
    call = ", ".join([_quoted(cls.name), *(_passed(parameter) for parameter in parameters)])
    return f"{head}\n{_docstring(cls, f'Makes {cls.title}.')}\n    return _window({call})"


def _ways(field: Field) -> list[list[str]]:
    """Return the ways to give a module its columns, each as the names of the columns."""
    if isinstance(field.type, Struct):
        names = [_column_name(part.name) for part in field.type.fields]
        least = len(names) - _defaults_in(field.type)
        ways = [names[:count] for count in range(max(1, least), len(names) + 1)]
        return ways if any(len(way) == 1 for way in ways) else [*ways, ["record"]]
    reads_any = isinstance(field.type, Variable) and not field.type.name
    return [["value"], []] if reads_any else [["value"]]


def _input(field: Field) -> str:
    """Return the parameter of an input of several: a column, several of them, or those of a stream by its name."""
    ways = [["_ColumnLike"] * len(way) for way in _ways(field)]
    types = ["_ColumnLike" if len(way) == 1 else f"tuple[{', '.join(way) or '()'}]" for way in ways]
    return f"{field.name}: {' | '.join(dict.fromkeys([*types, '_StreamColumns']))}"


def _defaults_in(struct: Struct) -> int:
    """Return the number of fields of a record that have a default; they are its last."""
    parameters = signature_of(struct.make).parameters.values() if isinstance(struct.make, type) else ()
    return sum(parameter.default is not parameter.empty for parameter in parameters)


def _columns(names: Sequence[str]) -> list[str]:
    return [*(f"{name}: _ColumnLike" for name in names), "/"] if names else []


def _head(name: str, columns: Sequence[str], told: Sequence[str], returns: str, *, is_star: bool = True) -> str:
    star = ["*"] if told and is_star and not told[0].startswith("**") else []
    return f"def {name}({', '.join([*columns, *star, *told])}) -> {returns}:"


def _parameter(parameter: inspect.Parameter, imports: Imports) -> str:
    annotation = spell_annotation(parameter.annotation, imports)
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}: {annotation}"
    is_required = parameter.default is parameter.empty
    default = "" if is_required else f" = {spell_default(parameter.default)}"
    return f"{parameter.name}: {annotation}{default}"


def _passed(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    given = f"{parameter.name}={parameter.name}"
    is_left_out = parameter.default is not parameter.empty and spell_default(parameter.default) == LEFT_OUT
    return f"**_given({given})" if is_left_out else given


def _identifier(full_name: str) -> str:
    name = full_name.partition(".")[2]
    return f"{name}_" if keyword.iskeyword(name) else name


def _column_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _RESERVED or name.startswith("_") else name


def _needed(cls: type[Module]) -> str:
    """Return the sentence on a module's needs: the needs, or the docstring of the property that computes them."""
    needs: object = cls.needs
    told = str(needs) if isinstance(needs, Needs) else (needs.__doc__ or "").partition("\n")[0].removesuffix(".")
    return f" Needs: {told}." if told else ""


def _docstring(offered: Offered, last: str) -> str:
    first = documentation_of(offered).strip().partition("\n")[0]
    text = "\n\n    ".join(part for part in (first, last) if part).replace("\\", "\\\\").replace('"""', "'''")
    return f'    """{text}\n    """'


def _quoted(text: str) -> str:
    return f'"{text}"'
