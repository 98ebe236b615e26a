"""Texts of queries with a mistake in them, as people and programs make them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final, TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 10**30, 2.5, float("nan"), float("inf"), [], {}, [[]], [None], [1], ["km"]),
    *("", "x", "km", "km > 2", "1 hour", "-5 minutes", "not a length", {"a": 1}, {"sql": "km * 2"}, {"sql": "km +"}),
    *({"sql": 5}, {"kind": "zzz"}, {"kind": None}, {"kind": ["a"]}, {"kind": "tumbling", "size": "1 hour"}),
    *({"is": "Decimal", "value": "1.5"}, {"is": "zzz"}, {"is": None}, {"is": ["a"]}, {"is": "tuple", "value": 3}),
    *({"is": "unwritable", "text": "x"}, {"is": "BoundedDelay", "delay": 1}, {"kind": "zzz.zzz"}, {"is": "Decimal"}),
)
"""What may stand where something else belongs."""

NAMES: Final = ("zzz", "kind", "sql", "is", "module", "key", "parameters", "idle", "value", "self", "df", "on", "where")
"""Names that may be where they do not belong."""


def mutated(random: Random, data: Any) -> Any:
    """Return data with one mistake, or with something else that is right."""
    data = copy.deepcopy(data)
    path = random.choice(list(_paths(data))[1:])
    holder = _at(data, path[:-1])
    last = path[-1]
    match random.choice(("value", "value", "drop", "misspell", "add", "list", "twice", "swap", "number")):
        case "value":
            holder[last] = copy.deepcopy(random.choice(VALUES))
        case "drop":
            del holder[last]
        case "misspell" if isinstance(last, str):
            misspelt = random.choice((last[:-1], f"{last}e", "zzz"))
            entries = [(misspelt if name == last else name, part) for name, part in holder.items()]
            holder.clear()
            holder.update(entries)
        case "add":
            objects = (_at(data, path[:end]) for end in range(len(path) - 1, -1, -1))
            target = next(part for part in objects if isinstance(part, dict))
            target[random.choice(NAMES)] = copy.deepcopy(random.choice(VALUES))
        case "list":
            holder[last] = [holder[last]]
        case "twice" if isinstance(last, int):
            holder.insert(last, copy.deepcopy(holder[last]))
        case "swap":
            holder[last] = copy.deepcopy(_at(data, random.choice(list(_paths(data))[1:])))
        case "number" if isinstance(holder, dict):
            holder[random.choice((1, 2.5, None, True))] = "km"
    return data


def _paths(data: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(data, dict | list):
        for name, part in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _paths(part, (*path, name))


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def left_out(original: Any, restored: Any, droppable: frozenset[str], place: str = "") -> list[str]:
    """List the places at which restored data lack a part of the original, or have another one.

    Args:
        original: The data that were written.
        restored: The data that were read back.
        known: The names whose parts may be left out where they are empty.
        place: The place of these data in the whole.
    """
    original = _normal(original)
    restored = _normal(restored)
    places: list[str] = []
    if isinstance(original, dict) and isinstance(restored, dict):
        for name, part in original.items():
            part_place = f"{place}.{name}"
            if name in restored:
                places += left_out(part, restored[name], droppable, part_place)
            elif part or name not in droppable:
                places.append(part_place)
        return places
    if isinstance(original, list) and isinstance(restored, list) and len(original) == len(restored):
        for number, (part, restored_part) in enumerate(zip(original, restored, strict=True)):
            places += left_out(part, restored_part, droppable, f"{place}[{number}]")
        return places
    is_empty = restored is None and original in ([], {})
    is_equal = type(original) is type(restored) and original == restored
    return [] if is_empty or is_equal else [f"{place}: {original} {restored}"]


def _normal(data: Any) -> Any:
    """Return data without the differences that mean nothing."""
    if isinstance(data, float):
        return data if data - data == 0 else {"is": "float", "value": repr(data)}
    if isinstance(data, dict) and data.keys() == {"sql"}:
        return str(data["sql"]).strip("()")
    if isinstance(data, dict) and data.get("kind") == "hopping" and data.get("size") == data.get("hop"):
        return {**{name: part for name, part in data.items() if name != "hop"}, "kind": "tumbling"}
    return data
