"""Check the parts of a text against the JSON Schema, so that `query_from_dict` refuses the same texts as editors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from muntin_engine.plan.text_places import PlacedError, did_you_mean

READ_ALONE: Final = ("stream", "frame")
"""The definitions that the reader of a text checks itself: those of other streams, and of names of DataFrames."""


def check(
    data: Any, schema: Mapping[str, Any], *, definitions: Mapping[str, Any], here: str, call: str | None = None
) -> None:
    """Raise unless a part of a text fits a schema.

    Args:
        data: The part.
        schema: The schema. It may have the keywords of JSON Schema that `query_schema` uses.
        definitions: The schemas that this schema refers to by their names.
        here: The place of the part in the text, such as `query[2].where`.
        call: The name of the call that the part describes, such as `where`; None if it describes none.

    Raises:
        PlacedError: The part does not fit. The message says the place of the fault, and what would be right there.
    """
    # The main argument of a call stands under the name of the call, and `here` names the call already. So an error
    # about the condition of `where` has the place `query[2].where`, and not `query[2].where.where`.
    shown_places = {} if call is None else {f"{here}.{call}": here}
    fault = _Checker(definitions, shown_places).fault(data, schema, here)
    if fault is not None:
        raise fault


class _Checker:
    """Finds the faults of data.

    Faults are not raised but returned, because `anyOf` compares the faults of its branches. They are generated one by
    one, as those after the first one are seldom needed.
    """

    def __init__(self, definitions: Mapping[str, Any], shown_places: Mapping[str, str]) -> None:
        """Begin with the schemas of a text.

        Args:
            definitions: The schemas that others refer to, by name.
            shown_places: Where an error names another place than that of the data: the place to name, by the place of
                the data.
        """
        self._definitions = definitions
        self._shown_places = shown_places

    def fault(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return the first fault of data; None if they fit."""
        return next(self.faults(data, schema, here), None)

    def faults(self, data: Any, schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the faults of data, the outermost fault first.

        Args:
            data: The data.
            schema: The schema that they should fit.
            here: The place of the data in the text, with which errors begin.
        """
        if "$ref" in schema:
            name = _name_of(schema)
            if name not in READ_ALONE:  # those are checked by the reader of the text
                yield from self.faults(data, self._definitions[name], here)
            return

        # The data themselves, then their parts, then further schemas that the same data have to fit.
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
        """Yield the fault of data themselves: they have another type, or are not the constant, word or name wanted."""
        if not _is_of_type(data, schema) or ("const" in schema and data != schema["const"]):
            yield PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")
        # A schema without `enum`, or without a pattern, allows all data: the defaults fit.
        elif data not in schema.get("enum", [data]):
            yield PlacedError(here, f"{data!r:.80} is none of these{did_you_mean([data], schema['enum'])}")
        elif isinstance(data, str) and not re.search(schema.get("pattern", ""), data):
            yield PlacedError(here, f"{data!r:.80} is no name of a plugin's")

    def _faults_of_object(self, data: Mapping[str, Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the faults of an object: entries that the schema does not know, missing entries, faults of entries."""
        properties = schema.get("properties", {})
        other_schema = schema.get("additionalProperties", {})  # for entries that are no properties; False allows none
        unknown: list[Any] = []
        if other_schema is False:
            unknown = [name for name in data if name not in properties]
        missing = [name for name in schema.get("required", ()) if name not in data]
        if unknown:
            advice = did_you_mean(unknown, properties)
            yield PlacedError(here, f"{self._spelled(schema)} takes no {unknown[0]!r:.80}{advice}")
        if missing:
            got = ", ".join(data) or "nothing"
            yield PlacedError(here, f"{self._spelled(schema)} needs {', '.join(missing)}, got {got}")
        for name, part in data.items():
            if name in properties or other_schema:  # without a schema, or with an empty one, an entry is not checked
                place = f"{here}.{name}"
                part_schema = properties.get(name, other_schema)
                yield from self.faults(part, part_schema, self._shown_places.get(place, place))

    def _faults_of_list(self, data: list[Any], schema: Mapping[str, Any], here: str) -> Iterator[PlacedError]:
        """Yield the fault of the length of a list, or the faults of its parts."""
        items = schema.get("items", {})
        least = schema.get("minItems", 0)
        most = schema.get("maxItems")
        if len(data) < least or (most is not None and len(data) > most):
            length = str(least) if least == most else f"{least} or more"
            yield PlacedError(here, f"expected a list of {length}, got {data!r:.80}")
            return
        for number, part in enumerate(data):
            part_schema = items[number] if isinstance(items, list) else items
            yield from self.faults(part, part_schema, f"{here}[{number}]")

    def _fault_of_any(self, data: Any, schema: Mapping[str, Any], here: str) -> PlacedError | None:
        """Return a fault of data that fit no branch of `anyOf`; None if they fit one.

        If only one branch is meant for such data, this is the fault that the data have there.

        Args:
            data: The data.
            schema: The schema with `anyOf`.
            here: The place of the data in the text, with which errors begin.
        """
        branches = [branch for branch, _ in self._branches(schema)]
        branches_of_type = [branch for branch in branches if _is_of_type(data, branch)]
        likely_branches = [branch for branch in branches_of_type if _has_required(data, branch)]

        faults: list[PlacedError] = []
        for branch in likely_branches or branches_of_type:
            fault = self.fault(data, branch, here)
            if fault is None:
                return None
            faults.append(fault)
        if len(faults) == 1:
            return faults[0]

        # Several branches, or none, may be meant: say all that would fit. Text was meant as one of the words, if the
        # branches have any.
        words: list[Any] = []
        for branch in branches:
            words += branch.get("enum", ())
        if words and isinstance(data, str):
            return PlacedError(here, f"{data!r:.80} is none of these{did_you_mean([data], words)}")
        return PlacedError(here, f"expected {self._spelled(schema)}, got {data!r:.80}")

    def _branches(self, schema: Mapping[str, Any], title: str = "") -> Iterator[tuple[Mapping[str, Any], str]]:
        """Yield the branches of a schema, each with a description of the data that fit it.

        A branch that has branches itself, or refers to a definition, is replaced by its branches.

        Args:
            schema: A schema with `anyOf`, one that refers to a definition, or any other one, which is its only branch.
            title: The title of a schema around it, which describes the branch; empty if there is none.
        """
        title = title or schema.get("title", "")
        if "$ref" in schema and _name_of(schema) not in READ_ALONE:
            yield from self._branches(self._definitions[_name_of(schema)], title)
        elif "anyOf" in schema:
            for branch in schema["anyOf"]:
                yield from self._branches(branch, title)
        else:
            yield schema, title or self._spelled(schema)

    def _spelled(self, schema: Mapping[str, Any]) -> str:
        """Return a description of the data that fit a schema, such as `a whole number or text`."""
        if "title" in schema:
            return str(schema["title"])
        if _name_of(schema) in READ_ALONE:  # `_branches` does not follow these; their names describe them
            return _name_of(schema)
        if "anyOf" in schema or "$ref" in schema:
            descriptions = dict.fromkeys(description for _, description in self._branches(schema))
            return " or ".join(descriptions)
        if "const" in schema:
            return repr(schema["const"])
        if "enum" in schema:
            return ", ".join(map(str, schema["enum"]))
        return " or ".join(_TYPES[kind].words for kind in _kinds_of(schema)) or "something else"


def _name_of(schema: Mapping[str, Any]) -> str:
    """Return the name of the definition that a schema refers to; empty if it refers to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _kinds_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of the types of JSON that a schema allows; none if it allows all types."""
    without_type = ["string"] if "enum" in schema else []  # the words of an enumeration are text
    kinds = schema.get("type", without_type)
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_of_type(data: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if data are of a type that a schema allows."""
    kinds = _kinds_of(schema)
    if not kinds:
        return True
    if isinstance(data, bool):
        return "boolean" in kinds  # for Python a bool is an int
    return any(isinstance(data, _TYPES[kind].classes) for kind in kinds)


def _has_required(data: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if an object has all entries that a schema requires; data that are no object need none."""
    return not isinstance(data, Mapping) or set(schema.get("required", ())) <= set(data)


class _JsonType(NamedTuple):
    """A type of JSON: a description, and the classes of its values."""

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
