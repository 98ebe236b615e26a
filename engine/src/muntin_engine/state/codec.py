"""Plain data to bytes and back, without pickle.

MessagePack carries numbers, text, bytes, lists and dicts; extension types carry the rest of what a payload or a
module's state may be made of. Records (dataclasses and named tuples) are written by name and values, and only
those that the query's modules declare can be read back: no bytes in a checkpoint can name code to run.

An extension type is a packed value within a packed value, and MessagePack for C takes some 50 kB of the thread's stack
for each that it reads. So nesting is bounded where values are written, and read with other means than the stack where
it is deep: what was written can be read, and bytes that nobody wrote are an error at the worst.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final, get_args, get_origin, get_type_hints, is_typeddict

import msgpack

from muntin import Module
from muntin.errors.safe_text import safe_message, safe_repr
from muntin.schemas.type_advice import advice_about
from muntin_engine.errors import StateError
from muntin_engine.state.plain_kinds import COLUMN, DEEPEST, NUMBER, READERS, RECORD, WRITERS, too_deep
from muntin_engine.state.records import check_record, field_names, make_record, record_name
from muntin_engine.state.value_columns import ValueColumn, join_columns, split_into_columns

_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta})
_WITHOUT_BYTES: Final = _SCALARS - {bytes} | {None}
"""The types in an annotation whose values are no bytes."""

_LEVELS_ON_STACK: Final = 6
"""The number of levels that are read on the thread's stack, which is fast."""


class Codec:
    """Writes and reads the values of one query.

    Example:
        >>> codec = Codec()
        >>> codec.unpack(codec.pack((1, {"a": {2.5}}, None)))
        (1, {'a': {2.5}}, None)
    """

    def __init__(
        self, records: Iterable[type] = (), *, reads_fields: bool = False, may_hold_buffers: bool = False
    ) -> None:
        """Prepare for values that may contain records.

        Args:
            records: The dataclasses and named tuples among the values.
            reads_fields: True to read every record, of whatever class, as a dict of its fields.
            may_hold_buffers: True to look for bytearrays and memoryviews, which MessagePack takes for bytes.
        """
        self._may_hold_buffers = may_hold_buffers
        self._records = {record_name(record): record for record in records}
        self._reads_fields = reads_fields

    @classmethod
    def of(cls, modules: Sequence[Module], records: Iterable[type] = ()) -> Codec:
        """Return the codec for the states and results of modules, and for other records."""
        declared: list[object] = []
        for module in modules:
            declared.append(module.state_type())
            declared.append(module._types()["result"])
        all_records = set(records).union(*map(records_in, declared))
        has_no_bytes = all(_holds_no_bytes(annotation, all_records) for annotation in declared)
        return cls(all_records, may_hold_buffers=not has_no_bytes)

    def reading_fields(self) -> Codec:
        """Return a codec that reads every record, of whatever class, as a dict of its fields."""
        return Codec(self._records.values(), reads_fields=True)

    def pack(self, value: object, depth: int = 0) -> bytes:
        """Return a value as bytes; equal dicts of the same order give the same bytes.

        Args:
            value: The value.
            depth: The number of values that it is nested in.

        Raises:
            StateError: The value, or a part of it, is not plain data, or nested too deeply.
        """
        if depth > DEEPEST:
            raise too_deep()
        try:
            write = partial(self._extend, depth=depth) if depth else self._extend  # most values are not nested
            packed: bytes = msgpack.packb(value, default=write, strict_types=True)
        except StateError:
            raise
        except Exception as error:
            # MessagePack has a limit of its own for lists and dicts, and says so in a ValueError.
            if isinstance(error, RecursionError) or "recursion limit" in str(error):
                raise too_deep() from None
            raise StateError(f"a value cannot be stored: {safe_message(error)}") from error
        if self._may_hold_buffers and not depth:  # the outermost call looks through the whole value
            _refuse_buffers(value, self._declares)
        return packed

    def unpack(self, data: bytes, depth: int = 0) -> Any:
        """Return the value that `pack` wrote.

        Args:
            data: The bytes.
            depth: The number of values that the bytes are nested in.

        Raises:
            StateError: `pack` did not write the bytes, or they name a record that no module of the query declares.
        """
        try:
            read = partial(self._restore, depth=depth) if depth else self._restore  # most values are not nested
            if depth < _LEVELS_ON_STACK:
                return msgpack.unpackb(data, ext_hook=read, strict_map_key=False)
            # Deeper values are read by an unpacker, which takes the memory that it needs from the heap.
            unpacker = msgpack.Unpacker(ext_hook=read, strict_map_key=False, max_buffer_size=max(1, len(data)))
            unpacker.feed(data)
            value = unpacker.unpack()
            if unpacker.tell() != len(data):
                raise ValueError(f"{len(data) - unpacker.tell()} bytes too many")
        except StateError:
            raise
        except Exception as error:  # bytes that nobody wrote may lead to any exception
            raise StateError(
                f"{len(data)} bytes of state cannot be read: {safe_message(error)}\n"
                "  expected: what this version of Muntin wrote for this query"
            ) from error
        return value

    def _extend(self, value: Any, depth: int = 0) -> msgpack.ExtType:
        """Return a value that MessagePack does not know as an extension type: the code of its kind, and simpler data.

        Args:
            value: The value.
            depth: The number of values that the value is nested in.

        Raises:
            StateError: The value is not plain data, or nested too deeply.
        """
        cls = type(value)
        if cls is ValueColumn:
            columns = split_into_columns(value.values, self._declares)
            return msgpack.ExtType(COLUMN, self.pack(columns, depth + 1))
        if cls in WRITERS:
            code, write = WRITERS[cls]
            return msgpack.ExtType(code, self.pack(write(value), depth + 1))
        if self._declares(cls):
            check_record(value)
            fields = {name: getattr(value, name) for name in field_names(cls)}
            return msgpack.ExtType(RECORD, self.pack([record_name(cls), fields], depth + 1))
        if cls.__module__ == "numpy":
            return msgpack.ExtType(NUMBER, self.pack(number_of(value), depth + 1))
        raise _not_plain(value)

    def _restore(self, code: int, data: bytes, depth: int = 0) -> Any:
        """Return the value that `_extend` wrote.

        Args:
            code: The code of the kind.
            data: The packed simpler data.
            depth: The number of values that the value is nested in.

        Raises:
            StateError: The kind is unknown, or the value is nested too deeply, or a record that no module declares.
        """
        if depth >= DEEPEST:
            raise too_deep()
        value = self.unpack(data, depth + 1)
        if code == COLUMN:
            return join_columns(value, self._record_class)
        if code == RECORD:
            name, fields = value
            return make_record(self._record_class(name), fields)
        if code not in READERS:
            raise StateError(f"the state holds a value of the unknown kind {code}; use the Muntin that wrote it")
        return READERS[code](value)

    def _declares(self, cls: type) -> bool:
        """Return True if a class is one of the records of the query, which can be read back."""
        return self._records.get(record_name(cls)) is cls

    def _record_class(self, name: str) -> type:
        """Return the class of a record by its name; `dict` where all records are read as dicts.

        Raises:
            StateError: No module declares such a record.
        """
        cls = dict if self._reads_fields else self._records.get(name)
        if cls is None:
            raise StateError(f"the state holds a record {name!r} that no module of the query declares any more")
        return cls


def number_of(value: Any) -> bool | int | float | str | bytes:
    """Return the Python value of a NumPy scalar.

    Raises:
        StateError: The value is an array, or a scalar without an exact counterpart.
    """
    is_scalar = getattr(value, "shape", None) == ()
    plain = value.item() if is_scalar else None
    # The dtypes M and m are times, whose Python values may be less exact.
    if not isinstance(plain, bool | int | float | str | bytes) or value.dtype.kind in "mM":
        raise _not_plain(value)
    return plain


def records_in(annotation: object) -> set[type]:
    """Return the dataclasses and named tuples that an annotation mentions, at any depth.

    Example:
        >>> records_in(list[int] | None)
        set()
    """
    return {cls for cls in classes_in(annotation) if dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")}


def holds_many(annotation: object) -> bool:
    """Return True if a value of a type may hold any number of values: it is a collection, or nothing is known of it.

    Tuples whose parts are named, dataclasses, named tuples and typed dicts hold as many values as their types say.

    Example:
        >>> holds_many(tuple[float, int]), holds_many(Mapping[str, int] | None), holds_many(tuple)
        (False, True, True)
    """
    classes = classes_in(annotation)
    return not classes or any(map(_is_collection, classes))


def _is_collection(cls: type) -> bool:
    """Return True for classes whose instances hold any number of values; also for `object`, which says nothing."""
    if cls is object:
        return True
    is_record = dataclasses.is_dataclass(cls) or hasattr(cls, "_fields") or is_typeddict(cls)
    if cls is tuple or is_record or issubclass(cls, str | bytes):
        return False  # `classes_in` looks at the parts of a tuple and of a record
    return issubclass(cls, Iterable)


def classes_in(annotation: object) -> set[type]:
    """Return the classes that an annotation mentions, at any depth; `object` for an annotation that says nothing."""
    classes: set[type] = set()
    pending = [annotation]
    while pending:
        part = pending.pop()
        cls = get_origin(part) or part
        # These say nothing; `...` in `tuple[int, ...]`, and a bare `tuple`, stand for any number of parts.
        if cls is Any or part is Ellipsis or part is tuple or isinstance(part, str):
            cls = object
        pending += get_args(part)
        if isinstance(cls, type) and cls not in classes:
            classes.add(cls)
            if dataclasses.is_dataclass(cls) or hasattr(cls, "_fields") or is_typeddict(cls):
                pending += _field_types(cls)
    return classes


def _holds_no_bytes(annotation: object, records: Collection[type]) -> bool:
    """Return True if it is certain that values of a type hold no bytes, at any depth.

    Args:
        annotation: The type.
        records: The classes whose fields are known.
    """
    pending = [annotation]
    entered_records: set[type] = set()  # a record may have parts of its own class
    while pending:
        part = pending.pop()
        cls = get_origin(part) or part
        inner_parts = get_args(part)
        if cls in records and isinstance(cls, type):
            inner_parts = () if cls in entered_records else tuple(_field_types(cls))
            entered_records.add(cls)
        elif not inner_parts and part not in _WITHOUT_BYTES:
            return False  # bytes, or a type of which nothing is known
        pending += [inner for inner in inner_parts if inner is not Ellipsis]
    return True


def _refuse_buffers(value: object, is_record: Callable[[type], bool]) -> None:
    """Refuse a value that holds bytes that can change, at any depth: MessagePack would pack them, and return bytes.

    Args:
        value: The value.
        is_record: Returns True for the class of a record whose fields are stored.

    Raises:
        StateError: The value holds a bytearray or a memoryview.
    """
    pending: list[Any] = [value]
    while pending:
        part = pending.pop()
        cls = type(part)
        if cls in (bytearray, memoryview):
            raise StateError(
                f"{safe_repr(part)} of type {cls.__name__} cannot be stored\n"
                "  expected: bytes, which do not change: bytes(value), or a list of integers"
            )
        inner_parts: Iterable[Any] = ()
        if cls is ValueColumn:
            inner_parts = part.values
        elif isinstance(part, Mapping):
            inner_parts = [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset | deque):
            inner_parts = part
        elif is_record(cls):
            inner_parts = [getattr(part, name) for name in field_names(cls)]
        # Most collections hold scalars alone: their types are looked at once, and not each part.
        other_types = set(map(type, inner_parts)) - _SCALARS
        if other_types:
            pending += [inner for inner in inner_parts if type(inner) in other_types]


def _field_types(cls: type) -> list[object]:
    """Return the types of the fields of a record; the annotations as they stand, if one of them cannot be evaluated.

    Of an annotation that stays text, nothing is known.
    """
    try:
        return list(get_type_hints(cls).values())
    except Exception:  # an annotation names a class that is imported for type checkers alone, for example
        return list(getattr(cls, "__annotations__", {}).values())


def _not_plain(value: object) -> StateError:
    """Return the error for a value that is not plain data."""
    return StateError(
        f"{safe_repr(value)} of type {record_name(type(value))} cannot be stored\n"
        "  expected: None, bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta, and lists,\n"
        "  tuples, sets, deques, dicts, dataclasses and named tuples of these\n"
        "  a record's class must appear in the module's declared state or result type"
        f"{advice_about(type(value))}"
    )
