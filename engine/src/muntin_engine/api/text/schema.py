"""The JSON Schema of the text of a query, derived from the signatures of the calls in the text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, Final

import muntin
import muntin.progress
from muntin.catalog.named_windows import OWN_KINDS, OWN_ROWS
from muntin.definitions.source_parsing import parse_source
from muntin.rows import Partitions
from muntin_engine.api.events import events
from muntin_engine.api.query import EventStream, Query, WindowedStream
from muntin_engine.api.union import union
from muntin_engine.plan.arguments_as_text import KIND
from muntin_engine.plan.query_as_text import VERSION
from muntin_engine.plan.steps import SIGNATURES, is_left_out, main_parameter
from muntin_engine.plan.text_functions import POLICIES, ROWS, TRIGGERS, WINDOWS

FIRST: Final[Mapping[str, Callable[..., EventStream]]] = {"events": events, "union": union}
"""The functions of first steps."""


def query_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of the texts that `Query.to_dict` writes and `query_from_dict` reads.

    It has the calls, their parameters, and the windows, policies and triggers of Muntin. It allows any names of
    modules, and any kinds of plugins, which have a dot or a colon in their name. Columns and their types are checked by
    `query_from_dict`, which refuses all texts that the schema refuses. Each parameter has the description of its
    docstring, so an editor with this schema completes, explains and checks queries in YAML. `muntin schema` prints it.

    Example:
        >>> sorted(query_schema()["properties"])
        ['muntin', 'one_pass', 'query']
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The text of a Muntin query",
        "type": "object",
        "required": ["muntin"],
        "properties": {
            "muntin": {"const": VERSION},
            "query": _ref("stream"),
            "one_pass": {"type": "object", "minProperties": 1, "additionalProperties": _ref("stream")},
        },
        "oneOf": [{"required": ["query"]}, {"required": ["one_pass"]}],
        "additionalProperties": False,
        "definitions": definitions(),
    }


def definitions() -> dict[str, Any]:
    """Return the schemas of the parts of a text, by name. Their titles describe the parts, in errors too."""
    # A step is an object with the name of its call as an entry. That call says which other entries the step may have:
    # draft 7 of JSON Schema has no switch, so there is an `if` for each call.
    has_entry_of_call = {name: {"required": [name]} for name in SIGNATURES}
    rules_by_call = [{"if": has_call, "then": _ref(f"call {name}")} for name, has_call in has_entry_of_call.items()]
    first_calls = [has_entry_of_call[name] for name in FIRST]
    later_calls = [has_call for name, has_call in has_entry_of_call.items() if name not in FIRST]
    first_step: dict[str, Any] = {"type": "object", "anyOf": first_calls, "allOf": rules_by_call}
    later_step: dict[str, Any] = {"type": "object", "anyOf": later_calls, "allOf": rules_by_call}
    columns = {"type": "array", "items": _ref("column")}
    return {
        "stream": {
            "type": "array",
            "minItems": 1,
            "items": [first_step],
            "additionalItems": later_step,
        },
        "frame": {"title": "the name of a DataFrame", "type": "string"},
        "column": {
            "title": "a column, which is a name or {sql: ...}",
            "anyOf": [{"type": "string"}, _record("an expression", ("sql",), sql={"type": "string"})],
        },
        "length": {
            "title": "a length, such as 10 minutes",
            "anyOf": [
                {"type": ["string", "number"]},
                _record("a decimal", ("is", "value"), **_DECIMAL_PARTS),
            ],
        },
        "module": _record(
            "{module: ...}",
            ("module",),
            module={"type": "string"},
            columns=columns,
            parameters={"type": "object"},
            streams={"type": "object", "additionalProperties": _ref("stream of a module")},
        ),
        "stream of a module": _record(
            "{stream: ..., columns: [...]}", ("stream", "columns"), stream={"type": "string"}, columns=columns
        ),
        "condition": _record(
            "{function: ...}",
            ("function",),
            function={"type": "string"},
            left=columns,
            right=columns,
            parameters={"type": "object"},
        ),
        # An object of a class of a plugin, or of the program itself.
        "own": {"title": "{kind: ...}", "type": "object", "required": [KIND], "properties": {KIND: _NAME_OF_CLASS}},
        **{name: _kinds(_TITLES[name], makers) for name, makers in _MAKERS.items()},
        **{f"call {name}": _call(name) for name in SIGNATURES},
    }


_DECIMAL_PARTS: Final[Mapping[str, Any]] = {"is": {"const": "Decimal"}, "value": {"type": "string"}}
"""The entries of a decimal, as `value_to_data` writes it."""

_NAME_OF_CLASS: Final = {"title": "the name of a class of a plugin or program", "type": "string", "pattern": "[.:]"}
_LATE: Final = {"correct": POLICIES["correct"]}
_EARLY: Final = {"early": POLICIES["early"]}
_MAKERS: Final[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
    "windows": {**OWN_KINDS, **OWN_ROWS, **WINDOWS},
    "trigger": TRIGGERS,
    "row policy": ROWS,
    "partitions": {Partitions.policy: Partitions},
    "progress": {name: maker for name, maker in POLICIES.items() if name not in {**_LATE, **_EARLY}},
    "lateness": _LATE,
    "early": _EARLY,
}
"""The functions and classes that text names as `kind`, by the definition that has them."""

_TITLES: Final[Mapping[str, str]] = {
    "windows": "windows, such as {kind: tumbling, size: 1 hour}",
    "trigger": "a trigger, such as {kind: every, period: 1 minute}",
    "row policy": "a policy of rows, such as {kind: on_row, condition: km > 2}",
    "partitions": "{kind: partitions, by: ...}",
    "progress": "a progress policy, such as {kind: bounded_disorder, rows: 100}",
    "lateness": "{kind: correct, allowed: 1 hour}",
    "early": "{kind: early, trigger: ...}",
}
"""The titles of these definitions."""

_LENGTH: Final = {"$ref": "#/definitions/length"}
_TYPES: Final[Mapping[str, dict[str, Any]]] = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "int": {"type": "integer"},
    **dict.fromkeys(("Duration", "timedelta", "datetime", "date"), _LENGTH),
    "Frame": {"$ref": "#/definitions/frame"},
    "FrameT": {"$ref": "#/definitions/frame"},
    "DeclaredColumns": {"type": "string"},
    "ColumnLike": {"$ref": "#/definitions/column"},
    "LengthOrColumn": {"anyOf": [_LENGTH, {"$ref": "#/definitions/column"}]},
    "EventStream": {"$ref": "#/definitions/stream"},
    "ModuleCall": {"$ref": "#/definitions/module"},
    "JoinCondition": {"$ref": "#/definitions/condition"},
    "ResultRefinement": {"$ref": "#/definitions/own"},
    "WindowSpecification": {"$ref": "#/definitions/windows"},
    "Trigger": {"$ref": "#/definitions/trigger"},
    "ProgressPolicy": {"$ref": "#/definitions/progress"},
    "Lateness": {"$ref": "#/definitions/lateness"},
    "EarlyEmission": {"$ref": "#/definitions/early"},
    "Partitions": {"$ref": "#/definitions/partitions"},
    "RowPolicy": {"anyOf": [_LENGTH, {"$ref": "#/definitions/row policy"}]},
    "ElapsedPolicy": {"anyOf": [_LENGTH, {"$ref": "#/definitions/row policy"}]},
}
"""The schemas of the types that parameters have, by the names of the types."""


def _ref(name: str) -> dict[str, str]:
    """Return a schema that refers to one of the definitions."""
    return {"$ref": f"#/definitions/{name}"}


def _record(title: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others.

    Args:
        title: The description of the object in errors.
        required: The names of the properties that it must have.
        properties: The schemas of its properties, by name.
    """
    return {
        "title": title,
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def _call(name: str) -> dict[str, Any]:
    """Return the schema of a step: its main argument is under the name of the call, others under their own names.

    Args:
        name: The name of the call.
    """
    main = main_parameter(name)
    descriptions = _descriptions_of_arguments(inspect.getdoc(_function_of(name)) or "")
    entries: dict[str, Any] = {}
    required = [name]
    for parameter in SIGNATURES[name].parameters.values():
        if parameter.name == "unnamed":
            continue  # it is there only to refuse arguments
        is_main = parameter.name == main
        schema = _of_parameter(parameter)
        if is_main and is_left_out(parameter):
            schema = {"anyOf": [schema, {"type": "null"}]}
        if parameter.name in descriptions:
            schema = {"description": descriptions[parameter.name], "allOf": [schema]}
        entries[name if is_main else parameter.name] = schema

        # The entry of the main argument is required already, as its name is that of the call.
        has_default = parameter.default is not parameter.empty
        is_starred = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if not (has_default or is_starred or is_main):
            required.append(parameter.name)
    entries.setdefault(name, {"type": "null"})  # a call without a main argument has null there
    return _record(name, tuple(required), **entries)


def _function_of(call: str) -> Callable[..., Any]:
    """Return the function or method of a call."""
    if call in FIRST:
        return FIRST[call]
    # Several classes may have a method of the name, such as `where`: it has the same parameters in all of them.
    classes = [cls for cls in (EventStream, WindowedStream, Query) if hasattr(cls, call)]
    method: Callable[..., Any] = getattr(classes[0], call)
    return method


def _of_parameter(parameter: inspect.Parameter) -> dict[str, Any]:
    """Return the schema of the argument of a parameter: an object for `**modules`, a list for `*names`."""
    schema = _of_annotation(str(parameter.annotation))
    if parameter.kind is parameter.VAR_KEYWORD:
        return {"type": "object", "additionalProperties": schema}
    if parameter.kind is parameter.VAR_POSITIONAL:
        return {"type": "array", "items": schema}
    return schema


def _kinds(title: str, makers: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Return the schema of an object of some kind, such as windows: its entry `kind` says which other entries it has.

    Args:
        title: The description of the object in errors.
        makers: The functions and classes that make such objects, by their kinds. Kinds of plugins are allowed as well.
    """
    by_kind = []
    for name, maker in makers.items():
        is_kind = {"properties": {KIND: {"const": name}}}
        by_kind.append({"if": is_kind, "then": _of_arguments(name, maker)})
    kind = {"anyOf": [{"enum": [*makers]}, _NAME_OF_CLASS]}
    return {"title": title, "type": "object", "required": [KIND], "properties": {KIND: kind}, "allOf": by_kind}


def _of_arguments(name: str, maker: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of the arguments of a kind: the parameters of its function, or the fields of its class.

    Some kinds have both. A text then has the arguments of the function or those of the class, so the schema allows both
    and requires only what both require.

    Args:
        name: The kind.
        maker: The function or the class that makes objects of the kind.
    """
    # The schemas that the function and the class have for each argument. The schema of `_kinds` checks the kind itself.
    schemas: dict[str, list[Any]] = {KIND: [{}]}
    required: list[set[str]] = []  # the arguments without a default: those of the function, then those of the class
    if not isinstance(maker, type):
        parameters = inspect.signature(maker).parameters.values()
        for parameter in parameters:
            schemas[parameter.name] = [_of_parameter(parameter)]
        required.append({parameter.name for parameter in parameters if parameter.default is parameter.empty})

    # The class: the maker itself, or the class of Muntin's own windows that goes by the same kind as the function.
    cls: Any = maker if isinstance(maker, type) else {**OWN_KINDS, **OWN_ROWS}.get(name)
    if cls is not None:
        required_fields: set[str] = set()
        for class_field in fields(cls):
            if not class_field.init:
                continue
            # A whole number is a number of ticks, for which the text may have a length such as `10 minutes`.
            schema = _of_annotation(str(class_field.type).replace("int", "Duration"))
            choices = schemas.setdefault(class_field.name, [])
            if schema not in choices:
                choices.append(schema)
            if class_field.default is MISSING and class_field.default_factory is MISSING:
                required_fields.add(class_field.name)
        required.append(required_fields)

    # Two entries of a progress policy stand for calls on it.
    if name in _MAKERS["progress"]:
        schemas["idle"] = [_record("idle", ("after",), after=_LENGTH, lag=_LENGTH)]
        schemas["key_punctuation"] = [{"type": "boolean"}]
    properties: dict[str, Any] = {}
    for part, choices in schemas.items():
        properties[part] = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return _record(name, tuple(sorted(set.intersection(*required))), **properties)


def _of_annotation(annotation: str) -> dict[str, Any]:
    """Return the schema of the type that the text of an annotation names."""
    return _of_type(parse_source(annotation, "eval").body)


def _of_type(node: ast.expr) -> dict[str, Any]:
    """Return the schema of a type, given the tree of its annotation.

    Raises:
        KeyError: Text cannot have values of the type.
    """
    match node:
        case ast.BinOp(left=left, right=right):
            return _of_union([_of_type(left), _of_type(right)])
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _of_generic(name, inner)
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.Name(id="EllipsisType"):
            return {}  # the type of a default that text cannot write: `_of_union` leaves it out
        case ast.Name(id=name):
            # A policy of Muntin's: text has the word of one of its members.
            muntin_class: Any = getattr(muntin, name, None)
            if isinstance(muntin_class, type) and issubclass(muntin_class, Enum):
                return {"enum": [member.value for member in muntin_class]}
            return _TYPES[name]
        case _:
            raise KeyError(ast.unparse(node))


def _of_union(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a union of types.

    If one of the types is an enumeration, the schema allows no other text, even if `str` is one of the types: that is
    how annotations such as `EmitPolicy | str` are meant.
    """
    has_words = any("enum" in str(schema) for schema in schemas)  # also in a union within this one
    choices: list[dict[str, Any]] = []
    for schema in schemas:
        is_any_text = schema == _TYPES["str"]
        # The empty schema is that of a type that text cannot write, such as `EllipsisType`: it leaves the argument out.
        is_unwritable = not schema
        if not is_unwritable and not (has_words and is_any_text):
            choices.append(schema)
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _of_generic(name: str, inner: ast.expr) -> dict[str, Any]:
    """Return the schema of a type with parameters, such as `Sequence[str]`.

    Args:
        name: The name of the type, such as `Sequence`.
        inner: The tree of its parameters.

    Raises:
        KeyError: Text cannot have values of the type.
    """
    match name, inner:
        case "Literal", _:
            return {"enum": list(ast.literal_eval(inner))}
        case "Mapping", ast.Tuple(elts=[_, value]):
            return {"type": "object", "additionalProperties": _of_type(value)}
        case "Sequence", _:
            return {"type": "array", "items": _of_type(inner)}
        case "tuple", ast.Tuple(elts=parts):
            items = [_of_type(part) for part in parts]
            return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}
        case _:
            raise KeyError(f"{name}[{ast.unparse(inner)}]")


def _descriptions_of_arguments(doc: str) -> dict[str, str]:
    """Return the descriptions of arguments in a docstring, each on one line, for editors to show."""
    descriptions: dict[str, str] = {}
    name = ""
    _, _, after_heading = doc.partition("\nArgs:\n")
    section, _, _ = after_heading.partition("\n\n")
    for line in section.splitlines():
        begins_argument = line.startswith("    ") and line[4:5] != " "
        if begins_argument:
            name, _, text = line.strip().partition(": ")
            descriptions[name] = text
        elif name:
            descriptions[name] += f" {line.strip()}"
    return descriptions
