"""Texts of queries with a mistake in them, as people and programs make them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from math import isfinite
from random import Random
from typing import Any, Final, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"

WRONG_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 10**30, 2.5, float("nan"), float("inf"), [], {}, [[]], [None], [1], ["km"]),
    *("", "x", "km", "km > 2", "1 hour", "-5 minutes", "not a length", {"a": 1}, {"sql": "km * 2"}, {"sql": "km +"}),
    *({"sql": 5}, {"kind": "zzz"}, {"kind": None}, {"kind": ["a"]}, {"kind": "tumbling", "size": "1 hour"}),
    *({"is": "Decimal", "value": "1.5"}, {"is": "zzz"}, {"is": None}, {"is": ["a"]}, {"is": "tuple", "value": 3}),
    *({"is": "unwritable", "text": "x"}, {"is": "BoundedDelay", "delay": 1}, {"kind": "zzz.zzz"}, {"is": "Decimal"}),
)
"""Values that are put where others belong."""

WRONG_NAMES: Final = (
    "zzz",
    "kind",
    "sql",
    "is",
    "module",
    "key",
    "parameters",
    "idle",
    "value",
    "self",
    "df",
    "on",
    "where",
)
"""Names that are put where they do not belong."""


def with_mistake(random: Random, data: Any) -> Any:
    """Return a copy of data with one change, which is a mistake in most cases."""
    data = copy.deepcopy(data)
    path = _random_path(random, data)
    holder = _part_at(data, path[:-1])
    name = path[-1]  # of the changed part: its name in a dictionary, or its place in a list
    match random.choice(("value", "value", "drop", "misspell", "add", "list", "twice", "swap", "number")):
        case "value":
            holder[name] = copy.deepcopy(random.choice(WRONG_VALUES))
        case "drop":
            del holder[name]
        case "misspell" if isinstance(name, str):
            _rename(holder, name, random.choice((name[:-1], f"{name}e", "zzz")))
        case "add":
            dictionary = _innermost_dictionary(data, path[:-1])
            dictionary[random.choice(WRONG_NAMES)] = copy.deepcopy(random.choice(WRONG_VALUES))
        case "list":
            holder[name] = [holder[name]]
        case "twice" if isinstance(name, int):
            holder.insert(name, copy.deepcopy(holder[name]))
        case "swap":
            holder[name] = copy.deepcopy(_part_at(data, _random_path(random, data)))
        case "number" if isinstance(holder, dict):
            holder[random.choice((1, 2.5, None, True))] = "km"
    return data


def _random_path(random: Random, data: Any) -> Path:
    """Draw the path of a part; the whole is none."""
    _, *paths_of_parts = _paths(data)
    return random.choice(paths_of_parts)


def _paths(data: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of the data and then those of all their parts: names in dictionaries, and places in lists."""
    yield path
    if isinstance(data, dict):
        for name, part in data.items():
            yield from _paths(part, (*path, name))
    elif isinstance(data, list):
        for place, part in enumerate(data):
            yield from _paths(part, (*path, place))


def _part_at(data: Any, path: Path) -> Any:
    for name in path:
        data = data[name]
    return data


def _innermost_dictionary(data: Any, path: Path) -> dict[Any, Any]:
    """Return the part at a path if it is a dictionary, or else the nearest one that it lies in."""
    for length in range(len(path), -1, -1):
        part = _part_at(data, path[:length])
        if isinstance(part, dict):
            return part
    raise AssertionError("a text of a query is a dictionary")


def _rename(dictionary: dict[Any, Any], name: str, new_name: str) -> None:
    """Rename an entry, which stays in its place."""
    entries = [(new_name if entry_name == name else entry_name, part) for entry_name, part in dictionary.items()]
    dictionary.clear()
    dictionary.update(entries)


def lost_parts(original: Any, restored: Any, droppable: frozenset[str], place: str = "") -> list[str]:
    """List the places at which restored data lack a part of the original, or have another one.

    Args:
        original: The data that were written.
        restored: The data that were read back.
        droppable: The names whose parts may be left out where they are empty.
        place: The place of these data in the whole.
    """
    original = _normal(original)
    restored = _normal(restored)
    places: list[str] = []
    if isinstance(original, dict) and isinstance(restored, dict):
        for name, part in original.items():
            part_place = f"{place}.{name}"
            if name in restored:
                places += lost_parts(part, restored[name], droppable, part_place)
            elif part or name not in droppable:
                places.append(part_place)
        return places
    if isinstance(original, list) and isinstance(restored, list) and len(original) == len(restored):
        for number, (part, restored_part) in enumerate(zip(original, restored, strict=True)):
            places += lost_parts(part, restored_part, droppable, f"{place}[{number}]")
        return places
    if restored is None and original in ([], {}):
        return []
    if type(original) is type(restored) and original == restored:
        return []
    return [f"{place}: {original} {restored}"]


def _normal(data: Any) -> Any:
    """Return data in one of several ways to write the same."""
    if isinstance(data, float) and not isfinite(data):
        return {"is": "float", "value": repr(data)}
    if isinstance(data, dict) and data.keys() == {"sql"}:
        return str(data["sql"]).strip("()")
    if isinstance(data, dict) and data.get("kind") == "hopping" and data.get("size") == data.get("hop"):
        tumbling = {**data, "kind": "tumbling"}
        del tumbling["hop"]
        return tumbling
    return data
