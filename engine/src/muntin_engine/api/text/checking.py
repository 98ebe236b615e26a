"""The parts of a text against the JSON Schema: editors and `query_from_dict` refuse the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from muntin_engine.api.text.places import PlacedError, closest

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
        self._definitions, self._places = definitions, places

    def fault(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return what is wrong with data; None if they fit."""
        return next(self.faults(data, schema, here), None)

    def faults(self, data: Any, schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in READ_ALONE:
                yield from self.faults(data, self._definitions[name], here)
            return
        if not _is_of_type(data, schema) or ("const" in schema and data != schema["const"]):
            yield PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")
        elif data not in schema.get("enum", [data]):
            yield PlacedError(here, f"{data!r:.80} is none of these{closest([data], schema['enum'])}")
        elif not re.search(schema.get("pattern", ""), data if isinstance(data, str) else ""):
            yield PlacedError(here, f"{data!r:.80} is no name of a plugin's")
        if isinstance(data, Mapping):
            yield from self._of_object(data, schema, here)
        if isinstance(data, list):
            yield from self._of_list(data, schema, here)
        if "anyOf" in schema and (fault := self._of_any(data, schema, here)) is not None:
            yield fault
        for part in schema.get("allOf", ()):
            yield from self.faults(data, part, here)
        if "if" in schema and self.fault(data, schema["if"], here) is None:
            yield from self.faults(data, schema["then"], here)

    def _of_object(self, data: Mapping[str, Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Return the faults of the entries of an object."""
        parts, other, told = schema.get("properties", {}), schema.get("additionalProperties", {}), self._spelled(schema)
        unknown = [name for name in data if name not in parts] if other is False else []
        missing = [name for name in schema.get("required", ()) if name not in data]
        if unknown:
            yield PlacedError(here, f"{told} takes no {unknown[0]!r:.80}{closest(unknown, parts)}")
        if missing:
            yield PlacedError(here, f"{told} needs {', '.join(missing)}, got {', '.join(data) or 'nothing'}")
        for name, part in data.items():
            if name in parts or other:
                yield from self.faults(part, parts.get(name, other), self._places.get(place := f"{here}.{name}", place))

    def _of_list(self, data: list[Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Return the faults of the parts of a list."""
        items, least, most = schema.get("items", {}), schema.get("minItems", 0), schema.get("maxItems")
        if len(data) < least or len(data) > (len(data) if most is None else most):
            yield PlacedError(
                here, f"expected a list of {least if least == most else f'{least} or more'}, got {data!r:.80}"
            )
            return
        for place, part in enumerate(data):
            yield from self.faults(part, items[place] if isinstance(items, list) else items, f"{here}[{place}]")

    def _of_any(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return why no branch of `anyOf` takes data: the fault of the only one meant for such data, or of all."""
        branches = list(self._branches(schema))
        meant = [one for one, _ in branches if _is_of_type(data, one) and _has_needed(data, one)]
        meant = meant or [one for one, _ in branches if _is_of_type(data, one)]
        faults = [self.fault(data, one, here) for one in meant]
        if None in faults:
            return None
        if len(faults) == 1:
            return faults[0]
        words = [word for one, _ in branches for word in one.get("enum", ())]
        if words and isinstance(data, str):
            return PlacedError(here, f"{data!r:.80} is none of these{closest([data], words)}")
        return PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")

    def _branches(self, schema: Mapping[str, Any], title: str = "") -> Iterator[tuple[Mapping[str, Any], str]]:
        """Return the schemas of `anyOf`, with those in them, and what fits each in words."""
        title = title or schema.get("title", "")
        if "$ref" in schema and (name := schema["$ref"].rpartition("/")[2]) not in READ_ALONE:
            yield from self._branches(self._definitions[name], title)
        elif "anyOf" in schema:
            for one in schema["anyOf"]:
                yield from self._branches(one, title)
        else:
            yield schema, title or self._spelled(schema)

    def _spelled(self, schema: Mapping[str, Any]) -> str:
        """Return what fits a schema, in words."""
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if "title" in schema or name in READ_ALONE:
            return str(schema.get("title", name))
        if "anyOf" in schema or "$ref" in schema:
            return " or ".join(dict.fromkeys(told for _, told in self._branches(schema)))
        if "const" in schema:
            return repr(schema["const"])
        if "enum" in schema:
            return ", ".join(map(str, schema["enum"]))
        return " or ".join(_TYPES[kind][0] for kind in _kinds_of(schema)) or "something else"


def _kinds_of(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", ["string"] if "enum" in schema else [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_of_type(data: Any, schema: Mapping[str, Any]) -> bool:
    classes = tuple(cls for kind in _kinds_of(schema) for cls in _TYPES[kind][1])
    return not classes or (bool in classes if isinstance(data, bool) else isinstance(data, classes))


def _has_needed(data: Any, schema: Mapping[str, Any]) -> bool:
    return not isinstance(data, Mapping) or set(schema.get("required", ())) <= set(data)


_TYPES: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "string": ("text", (str,)),
    "boolean": ("true or false", (bool,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float, Decimal)),
    "null": ("null", (type(None),)),
    "array": ("a list", (list,)),
    "object": ("a mapping of names", (Mapping,)),
}
"""The types of JSON: in words, and the classes of their values."""
