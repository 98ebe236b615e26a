"""Many values of one kind, written once for all: the kind, and then what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Final

from muntin_engine.state.plain_kinds import DEEPEST, READERS, WRITERS, too_deep
from muntin_engine.state.records import check_record, field_names, make_records, record_name

_AS_THEY_ARE, _TUPLES, _RECORDS, _OF_A_KIND = range(4)
_NULL: Final = type(None)


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A list for the codec to write by columns; it is read back as a list of equal values.

    Tuples of one length and records of one class are written field by field, at any depth, and values of a kind that
    MessagePack does not know as simpler ones, with one mark for all: up to ten times as fast as one by one. Lists of
    anything else are written as any list is.
    """

    values: list[Any]


def split(values: list[Any], is_known: Callable[[type], bool], depth: int = 0) -> list[Any]:
    """Return simpler data that `join` makes the values of again.

    Args:
        values: Any values.
        is_known: Whether a class is a record that can be read back.
        depth: In how many others they are.

    Raises:
        StateError: They are nested too deeply.
    """
    if depth > DEEPEST:
        raise too_deep()
    kinds = set(map(type, values))
    cls = kinds.pop() if len(kinds) == 1 else None
    if cls is tuple and len(widths := set(map(len, values))) == 1 and (width := widths.pop()):
        return [_TUPLES, *(split(list(map(itemgetter(place), values)), is_known, depth + 1) for place in range(width))]
    if cls is not None and is_known(cls) and (names := field_names(cls)):
        if hasattr(cls, "__post_init__"):
            for value in values:
                check_record(value)
        columns = [split(list(map(attrgetter(name), values)), is_known, depth + 1) for name in names]
        return [_RECORDS, record_name(cls), names, *columns]
    only = kinds - {_NULL} if cls is None else {cls}
    return _of_a_kind(values, only.pop()) if len(only) == 1 else [_AS_THEY_ARE, values]


def join(data: list[Any], class_of: Callable[[str], type]) -> list[object]:
    """Return the values that `split` was given.

    Args:
        data: What it returned.
        class_of: Finds a record's class by its name.
    """
    kind, *parts = data
    if kind == _TUPLES:
        return list(zip(*(join(column, class_of) for column in parts), strict=True))
    if kind == _RECORDS:
        name, names, *columns = parts
        return make_records(class_of(name), names, [join(column, class_of) for column in columns])
    if kind == _OF_A_KIND:
        code, written = parts
        read = READERS[code]
        return [None if value is None else read(value) for value in written]
    values: list[Any] = parts[0]
    return values


def _of_a_kind(values: list[object], cls: type) -> list[object]:
    """Return values of one kind, and nulls among them, as simpler ones."""
    if cls is int or cls not in WRITERS:
        return [_AS_THEY_ARE, values]
    code, write = WRITERS[cls]
    return [_OF_A_KIND, code, [None if value is None else write(value) for value in values]]
