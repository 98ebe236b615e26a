"""The JSON Schema of the text of a query, made from the signatures of the calls that the text is made of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any, Final

import muntin
import muntin.progress
from muntin.named_windows import OWN_KINDS, OWN_ROWS
from muntin.rows import Partitions
from muntin.source_parsing import parse_source
from muntin_engine.api.events import events
from muntin_engine.api.query import EventStream, Query, WindowedStream
from muntin_engine.api.text.kinds import POLICIES, ROWS, TRIGGERS, WINDOWS
from muntin_engine.api.union import union
from muntin_engine.plan.arguments_as_text import KIND
from muntin_engine.plan.query_as_text import VERSION
from muntin_engine.plan.steps import SIGNATURES, is_left_out, main_parameter

FIRST: Final[Mapping[str, Callable[..., EventStream]]] = {"events": events, "union": union}
"""The functions that a query begins with."""


def query_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of what `Query.to_dict` writes and `query_from_dict` reads.

    It knows the calls, their parameters, and the windows, policies and triggers of Muntin. Names of modules, and kinds
    of plugins, which have a dot or a colon in their name, are open. Columns and their types are checked by
    `query_from_dict`, which refuses all that the schema refuses. Each parameter has the description of its docstring,
    so an editor that is given the schema completes, explains and checks queries in YAML. `muntin schema` prints it.

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
    """Return the schemas of the parts of a text, by name. A title says what a part is, in errors too."""
    calls = {name: {"required": [name]} for name in SIGNATURES}
    chosen = [{"if": called, "then": _ref(f"call {name}")} for name, called in calls.items()]
    later: dict[str, Any] = {"type": "object", "anyOf": [calls[name] for name in calls if name not in FIRST]}
    first: dict[str, Any] = {"type": "object", "anyOf": [calls[name] for name in FIRST]}
    columns = {"type": "array", "items": _ref("column")}
    return {
        "stream": {
            **{"type": "array", "minItems": 1},
            "items": [{**first, "allOf": chosen}],
            "additionalItems": {**later, "allOf": chosen},
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
                _record("a decimal", ("is", "value"), **{"is": {"const": "Decimal"}, "value": {"type": "string"}}),
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
        "own": {"title": "{kind: ...}", "type": "object", "required": [KIND], "properties": {KIND: _OWN}},
        **{name: _kinds(_TITLES[name], made) for name, made in _MADE.items()},
        **{f"call {name}": _call(name) for name in SIGNATURES},
    }


_OWN: Final = {"title": "the name of a class of a plugin or program", "type": "string", "pattern": "[.:]"}
_LATE: Final = {"correct": POLICIES["correct"]}
_EARLY: Final = {"early": POLICIES["early"]}
_MADE: Final[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
    "windows": {**OWN_KINDS, **OWN_ROWS, **WINDOWS},
    "trigger": TRIGGERS,
    "row policy": ROWS,
    "partitions": {Partitions.policy: Partitions},
    "progress": {name: made for name, made in POLICIES.items() if name not in {**_LATE, **_EARLY}},
    "lateness": _LATE,
    "early": _EARLY,
}
"""What text names as `kind`, by what it may stand for."""

_TITLES: Final[Mapping[str, str]] = {
    "windows": "windows, such as {kind: tumbling, size: 1 hour}",
    "trigger": "a trigger, such as {kind: every, period: 1 minute}",
    "row policy": "a policy of rows, such as {kind: on_row, condition: km > 2}",
    "partitions": "{kind: partitions, by: ...}",
    "progress": "a progress policy, such as {kind: bounded_disorder, rows: 100}",
    "lateness": "{kind: correct, allowed: 1 hour}",
    "early": "{kind: early, trigger: ...}",
}
"""These in words, for errors and editors."""

_LENGTH: Final = {"$ref": "#/definitions/length"}
_TYPES: Final[Mapping[str, dict[str, Any]]] = {
    **{"str": {"type": "string"}, "bool": {"type": "boolean"}, "float": {"type": "number"}},
    "int": {"type": "integer"},
    **dict.fromkeys(("Duration", "timedelta", "datetime", "date"), _LENGTH),
    **{"DataFrame": {"$ref": "#/definitions/frame"}, "ColumnLike": {"$ref": "#/definitions/column"}},
    "LengthOrColumn": {"anyOf": [_LENGTH, {"$ref": "#/definitions/column"}]},
    **{"EventStream": {"$ref": "#/definitions/stream"}, "ModuleCall": {"$ref": "#/definitions/module"}},
    **{"JoinCondition": {"$ref": "#/definitions/condition"}, "ResultRefinement": {"$ref": "#/definitions/own"}},
    **{"WindowSpecification": {"$ref": "#/definitions/windows"}, "Trigger": {"$ref": "#/definitions/trigger"}},
    **{"ProgressPolicy": {"$ref": "#/definitions/progress"}, "Lateness": {"$ref": "#/definitions/lateness"}},
    **{"EarlyEmission": {"$ref": "#/definitions/early"}, "Partitions": {"$ref": "#/definitions/partitions"}},
    **{name: {"anyOf": [_LENGTH, {"$ref": "#/definitions/row policy"}]} for name in ("RowPolicy", "ElapsedPolicy")},
}
"""The schemas of the types that parameters have, by the names of the types."""


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


def _record(title: str, needed: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    needs = {"title": title, "type": "object", "required": list(needed)}
    return {**needs, "properties": properties, "additionalProperties": False}


def _call(name: str) -> dict[str, Any]:
    """Return the schema of a step: its first argument under the name of the call, the others beside it."""
    main, parts, needed = main_parameter(name), dict[str, Any](), [name]
    function = FIRST.get(name) or next(
        getattr(cls, name) for cls in (EventStream, WindowedStream, Query) if hasattr(cls, name)
    )
    told = _told(inspect.getdoc(function) or "")
    for one in SIGNATURES[name].parameters.values():
        if one.name == "unnamed":
            continue
        schema = _of_parameter(one)
        if one.name == main and is_left_out(one):
            schema = {"anyOf": [schema, {"type": "null"}]}
        is_needed = one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        if is_needed and one.name != main:
            needed.append(one.name)
        own = name if one.name == main else one.name
        parts[own] = {"description": told[one.name], "allOf": [schema]} if one.name in told else schema
    parts.setdefault(name, {"type": "null"})
    return _record(name, tuple(needed), **parts)


def _of_parameter(one: inspect.Parameter) -> dict[str, Any]:
    schema = _of_type(parse_source(str(one.annotation), "eval").body)
    if one.kind is one.VAR_KEYWORD:
        return {"type": "object", "additionalProperties": schema}
    return {"type": "array", "items": schema} if one.kind is one.VAR_POSITIONAL else schema


def _kinds(title: str, made: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Return the schema of an object whose `kind` is one of some functions or classes, or of a plugin."""
    named: dict[str, Any] = {KIND: {"anyOf": [{"enum": [*made]}, _OWN]}}
    then = [
        {"if": {"properties": {KIND: {"const": name}}}, "then": _of_arguments(name, one)} for name, one in made.items()
    ]
    return {"title": title, "type": "object", "required": [KIND], "properties": named, "allOf": then}


def _of_arguments(name: str, made: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of the arguments of a kind: those of its function, and the fields of its class."""
    parts: dict[str, list[Any]] = {KIND: [{}]}
    needed: list[set[str]] = []
    if not isinstance(made, type):
        signature = inspect.signature(made).parameters.values()
        parts |= {one.name: [_of_parameter(one)] for one in signature}
        needed.append({one.name for one in signature if one.default is one.empty})
    cls: Any = made if isinstance(made, type) else {**OWN_KINDS, **OWN_ROWS}.get(name)
    if cls is not None:
        for part in (part for part in fields(cls) if part.init):
            schema = _of_type(parse_source(str(part.type).replace("int", "Duration"), "eval").body)  # in ticks
            if schema not in (known := parts.setdefault(part.name, [])):
                known.append(schema)
        own = (part for part in fields(cls) if part.init)
        needed.append({p.name for p in own if p.default is MISSING and p.default_factory is MISSING})
    if name in _MADE["progress"]:
        idle = _record("idle", ("after",), after=_LENGTH, lag=_LENGTH)
        parts |= {"idle": [idle], "key_punctuation": [{"type": "boolean"}]}
    properties = {part: {"anyOf": schemas} if len(schemas) > 1 else schemas[0] for part, schemas in parts.items()}
    return _record(name, tuple(sorted(set.intersection(*needed))), **properties)


def _of_type(node: ast.expr) -> dict[str, Any]:
    """Return the schema of a type that an annotation names.

    Raises:
        KeyError: It is a type that text has no word for.
    """
    found: dict[str, Any]
    match node:
        case ast.BinOp(left=left, right=right):
            parts = [_of_type(left), _of_type(right)]
            is_closed = any("enum" in str(part) for part in parts)
            kept = [part for part in parts if part and not (is_closed and part == _TYPES["str"])]
            found = kept[0] if len(kept) == 1 else {"anyOf": kept}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            found = {"enum": list(ast.literal_eval(inner))}
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[_, inner])):
            found = {"type": "object", "additionalProperties": _of_type(inner)}
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            found = {"type": "array", "items": _of_type(inner)}
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
            each = [_of_type(part) for part in parts]
            found = {"type": "array", "items": each, "minItems": len(each), "maxItems": len(each)}
        case ast.Constant(value=None):
            found = {"type": "null"}
        case ast.Name(id="EllipsisType"):
            found = {}  # a default that no text can say
        case ast.Name(id=name):
            named: Any = getattr(muntin, name, None)
            is_enum = isinstance(named, type) and issubclass(named, Enum)
            found = {"enum": [member.value for member in named]} if is_enum else _TYPES[name]
        case _:
            raise KeyError(ast.unparse(node))
    return found


def _told(doc: str) -> dict[str, str]:
    """Return what a docstring says of each argument, on one line each, for editors to show."""
    found: dict[str, str] = {}
    name = ""
    for line in doc.partition("\nArgs:\n")[2].partition("\n\n")[0].splitlines():
        if line.startswith("    ") and line[4:5] != " ":
            name, _, said = line.strip().partition(": ")
            found[name] = said
        elif name:
            found[name] += f" {line.strip()}"
    return found
