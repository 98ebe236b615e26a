"""Many values of one kind, written once for all: the kind, and then what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Final

from muntin_engine.state.plain_kinds import DEEPEST, READERS, WRITERS, too_deep
from muntin_engine.state.records import check_record, field_names, make_records, record_name

_AS_THEY_ARE, _TUPLES, _RECORDS, _OF_ONE_TYPE = range(4)
"""The ways in which a column is written; the number is the first part of the data."""

_NULL: Final = type(None)


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A list for the codec to write by columns; it is read back as a list of equal values.

    Tuples of one length and records of one class are written field by field, at any depth. Values of one kind that
    MessagePack does not know are written as simpler values, with the code of the kind once for all. This is up to ten
    times as fast as writing them one by one. Any other list is written as it is.
    """

    values: list[Any]


def split_into_columns(values: list[Any], is_known: Callable[[type], bool], depth: int = 0) -> list[Any]:
    """Return values as simpler data: the number of the way in which they are written, and then the parts of that way.

    `join_columns` makes the values again.

    Args:
        values: The values.
        is_known: Returns True for the class of a record that can be read back.
        depth: The number of columns that the values are nested in.

    Raises:
        StateError: The values are nested too deeply.
    """
    if depth > DEEPEST:
        raise too_deep()
    types = set(map(type, values))
    if len(types) == 1:
        (cls,) = types
        if cls is tuple:
            widths = set(map(len, values))
            if len(widths) == 1 and 0 not in widths:
                return _split_tuples(values, widths.pop(), is_known, depth)
        elif is_known(cls) and field_names(cls):
            return _split_records(values, cls, is_known, depth)
    # Nulls may lie among values of one type; a column of nothing but nulls is of one type already.
    types_but_null = types if len(types) == 1 else types - {_NULL}
    if len(types_but_null) == 1:
        return _split_simple(values, types_but_null.pop())
    return [_AS_THEY_ARE, values]


def _split_tuples(values: list[Any], width: int, is_known: Callable[[type], bool], depth: int) -> list[Any]:
    """Return tuples of one width column by column."""
    data: list[Any] = [_TUPLES]
    for place in range(width):
        column = list(map(itemgetter(place), values))
        data.append(split_into_columns(column, is_known, depth + 1))
    return data


def _split_records(values: list[Any], cls: type, is_known: Callable[[type], bool], depth: int) -> list[Any]:
    """Return records of one class field by field.

    Raises:
        StateError: The class of the records refuses the values of one, so that it could not be read back.
    """
    if hasattr(cls, "__post_init__"):  # no other class refuses values
        for value in values:
            check_record(value)
    names = field_names(cls)
    data: list[Any] = [_RECORDS, record_name(cls), names]
    for name in names:
        column = list(map(attrgetter(name), values))
        data.append(split_into_columns(column, is_known, depth + 1))
    return data


def _split_simple(values: list[object], cls: type) -> list[object]:
    """Return values of one type, with nulls among them, as plainer values if MessagePack does not know the type."""
    if cls is int or cls not in WRITERS:  # MessagePack knows integers; the codec writes huge ones one by one
        return [_AS_THEY_ARE, values]
    code, write = WRITERS[cls]
    return [_OF_ONE_TYPE, code, [None if value is None else write(value) for value in values]]


def join_columns(data: list[Any], class_of: Callable[[str], type]) -> list[object]:
    """Return the values that `split_into_columns` took apart.

    Args:
        data: The data that `split_into_columns` returned.
        class_of: The function that returns the class of a record by its name.
    """
    way, *parts = data
    if way == _TUPLES:
        columns = [join_columns(column, class_of) for column in parts]
        return list(zip(*columns, strict=True))
    if way == _RECORDS:
        name, names, *split_columns = parts
        columns = [join_columns(column, class_of) for column in split_columns]
        return make_records(class_of(name), names, columns)
    if way == _OF_ONE_TYPE:
        code, simple_values = parts
        read = READERS[code]
        return [None if value is None else read(value) for value in simple_values]
    values: list[Any] = parts[0]
    return values
