"""The parts of a text against the JSON Schema: editors and `query_from_dict` refuse the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from muntin_engine.plan.text_places import PlacedError, closest

READ_ALONE: Final = ("stream", "frame")
"""The definitions of what the reader of a text checks itself: other streams, and names of DataFrames."""


def check(
    data: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], here: str, call: str | None = None
) -> None:
    """Refuse a part of a text that does not fit a schema.

    Args:
        data: The part.
        schema: The schema. It may have the words of JSON Schema that `query_schema` uses.
        definitions: The schemas that it names.
        here: The place of the part.
        call: The entry of the part whose place that is already, if there is one.

    Raises:
        PlacedError: It does not fit. The message says the place in it that is wrong, and what would be right.
    """
    for fault in _Checker(definitions, {f"{here}.{call}": here}).faults(data, schema, here):
        raise fault


class _Checker:
    """Finds the first fault of data. It returns faults, as what no branch of `anyOf` takes has one for each."""

    def __init__(self, definitions: Mapping[str, Any], places: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._places = places

    def fault(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return what is wrong with data; None if they fit."""
        return next(self.faults(data, schema, here), None)

    def faults(self, data: Any, schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield what is wrong with data, the outermost fault first."""
        if "$ref" in schema:
            name = _name_of(schema)
            if name not in READ_ALONE:
                yield from self.faults(data, self._definitions[name], here)
            return
        yield from self._faults_of_value(data, schema, here)
        if isinstance(data, Mapping):
            yield from self._faults_of_object(data, schema, here)
        if isinstance(data, list):
            yield from self._faults_of_list(data, schema, here)
        if "anyOf" in schema:
            fault = self._fault_of_any(data, schema, here)
            if fault is not None:
                yield fault
        for part in schema.get("allOf", ()):
            yield from self.faults(data, part, here)
        if "if" in schema and self.fault(data, schema["if"], here) is None:
            yield from self.faults(data, schema["then"], here)

    def _faults_of_value(self, data: Any, schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the fault of the type, the constant, the word or the name that data is."""
        if not _is_of_type(data, schema) or ("const" in schema and data != schema["const"]):
            yield PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")
        elif data not in schema.get("enum", [data]):
            yield PlacedError(here, f"{data!r:.80} is none of these{closest([data], schema['enum'])}")
        elif not re.search(schema.get("pattern", ""), data if isinstance(data, str) else ""):
            yield PlacedError(here, f"{data!r:.80} is no name of a plugin's")

    def _faults_of_object(self, data: Mapping[str, Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the faults of the entries of an object."""
        properties = schema.get("properties", {})
        other_schema = schema.get("additionalProperties", {})
        unknown = [name for name in data if name not in properties] if other_schema is False else []
        missing = [name for name in schema.get("required", ()) if name not in data]
        if unknown:
            advice = closest(unknown, properties)
            yield PlacedError(here, f"{self._spelled(schema)} takes no {unknown[0]!r:.80}{advice}")
        if missing:
            got = ", ".join(data) or "nothing"
            yield PlacedError(here, f"{self._spelled(schema)} needs {', '.join(missing)}, got {got}")
        for name, part in data.items():
            if name in properties or other_schema:
                place = f"{here}.{name}"
                yield from self.faults(part, properties.get(name, other_schema), self._places.get(place, place))

    def _faults_of_list(self, data: list[Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the fault of the length of a list, or those of its parts."""
        items = schema.get("items", {})
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(data) < least or (most is not None and len(data) > most):
            length = str(least) if least == most else f"{least} or more"
            yield PlacedError(here, f"expected a list of {length}, got {data!r:.80}")
            return
        for place, part in enumerate(data):
            yield from self.faults(part, items[place] if isinstance(items, list) else items, f"{here}[{place}]")

    def _fault_of_any(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return why no branch of `anyOf` takes data: the fault of the only one meant for such data, or of all."""
        branches = [branch for branch, _ in self._branches(schema)]
        of_type = [branch for branch in branches if _is_of_type(data, branch)]
        meant = [branch for branch in of_type if _has_needed(data, branch)] or of_type
        faults = [self.fault(data, branch, here) for branch in meant]
        if None in faults:
            return None
        if len(faults) == 1:
            return faults[0]
        words = [word for branch in branches for word in branch.get("enum", ())]
        if words and isinstance(data, str):
            return PlacedError(here, f"{data!r:.80} is none of these{closest([data], words)}")
        return PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")

    def _branches(self, schema: Mapping[str, Any], title: str = "") -> Iterator[tuple[Mapping[str, Any], str]]:
        """Yield the schemas of `anyOf`, with those in them, and what fits each in words."""
        title = title or schema.get("title", "")
        if "$ref" in schema and _name_of(schema) not in READ_ALONE:
            yield from self._branches(self._definitions[_name_of(schema)], title)
        elif "anyOf" in schema:
            for branch in schema["anyOf"]:
                yield from self._branches(branch, title)
        else:
            yield schema, title or self._spelled(schema)

    def _spelled(self, schema: Mapping[str, Any]) -> str:
        """Return what fits a schema, in words."""
        if "title" in schema:
            return str(schema["title"])
        if _name_of(schema) in READ_ALONE:
            return _name_of(schema)
        if "anyOf" in schema or "$ref" in schema:
            return " or ".join(dict.fromkeys(words for _, words in self._branches(schema)))
        if "const" in schema:
            return repr(schema["const"])
        if "enum" in schema:
            return ", ".join(map(str, schema["enum"]))
        return " or ".join(_TYPES[kind].words for kind in _kinds_of(schema)) or "something else"


def _name_of(schema: Mapping[str, Any]) -> str:
    """Return the name of the definition that a schema refers to; empty if it refers to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _kinds_of(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", ["string"] if "enum" in schema else [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_of_type(data: Any, schema: Mapping[str, Any]) -> bool:
    kinds = _kinds_of(schema)
    if not kinds:
        return True
    if isinstance(data, bool):
        return "boolean" in kinds  # for Python it is a number
    return any(isinstance(data, _TYPES[kind].classes) for kind in kinds)


def _has_needed(data: Any, schema: Mapping[str, Any]) -> bool:
    return not isinstance(data, Mapping) or set(schema.get("required", ())) <= set(data)


class _JsonType(NamedTuple):
    """A type of JSON: in words, and the classes of its values."""

    words: str
    classes: tuple[type, ...]


_TYPES: Final[Mapping[str, _JsonType]] = {
    "string": _JsonType("text", (str,)),
    "boolean": _JsonType("true or false", (bool,)),
    "integer": _JsonType("a whole number", (int,)),
    "number": _JsonType("a number", (int, float, Decimal)),
    "null": _JsonType("null", (type(None),)),
    "array": _JsonType("a list", (list,)),
    "object": _JsonType("a mapping of names", (Mapping,)),
}
