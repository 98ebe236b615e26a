"""Values of Python and NumPy as Arrow's, and back, without pandas.

`pa.array`, `pa.scalar` and `to_numpy` import pandas where it is installed, to find out whether values are pandas' own,
and so does whatever calls them: `schema.empty_table()`, `pc.add(column, 1)`, `take` with an array of NumPy's. That
takes 0.14 s and 36 MB of each process, a fifth of a small query and a quarter of a worker's start. So numbers,
booleans and text are written and read here as they lie in Arrow's memory, and only other values go by way of pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import Array, BoolArray

_KINDS_OF_NUMBERS: Final = "iuf"
"""The kinds of NumPy's types whose values lie in memory as Arrow's do."""

_TYPE_OF_CLASS: Final[Mapping[type, pa.DataType]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    np.float64: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
}
"""The Arrow type of objects that are written to memory here, by their class."""

_LARGEST_OFFSET: Final = 2**31 - 1
"""The number of bytes that one array of text can hold. For more, `pa.array` makes several arrays."""


def arrow_array(
    values: Iterable[Any], data_type: pa.DataType | None = None, *, mask: BoolArray | None = None
) -> pa.Array:
    """Return an array, as `pa.array` does, without the import of pandas that this brings about.

    Numbers in an array of NumPy's are not copied.

    Args:
        values: The values: an array of NumPy's, which may be masked, objects of Python, or an array of Arrow's.
        data_type: The Arrow type of the array; None to infer it from the values.
        mask: True for each value that becomes a null; None if only None becomes a null. Masked arrays and arrays of
            Arrow's have their own nulls: for them it is ignored.

    Raises:
        pa.ArrowException: A value is not of the type.

    Example:
        >>> arrow_array(np.array([3, 4]), mask=np.array([False, True])).to_pylist()
        [3, None]
        >>> arrow_array(["north", None]).type
        DataType(string)
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values if data_type is None else values.cast(data_type)
    if not isinstance(values, np.ndarray):
        return _array_of_objects(list(values), data_type, mask)
    if isinstance(values, np.ma.MaskedArray):
        return arrow_array(values.data, data_type, mask=np.ma.getmaskarray(values))

    # Numbers and booleans lie in memory as Arrow has them; anything else goes by way of objects or of pyarrow.
    if values.dtype.kind in _KINDS_OF_NUMBERS:
        array = _array_over(np.ascontiguousarray(values), pa.from_numpy_dtype(values.dtype), len(values), mask)
    elif values.dtype == np.bool_:
        array = _array_over(_bits(values), pa.bool_(), len(values), mask)
    elif values.dtype == np.object_:
        return _array_of_objects(values.tolist(), data_type, mask)
    else:
        return pa.array(values, data_type, mask=mask)
    return array if data_type is None else array.cast(data_type)


def arrow_scalar(value: object, data_type: pa.DataType | None = None) -> pa.Scalar:
    """Return a scalar, as `pa.scalar` does, without the import of pandas that this brings about.

    Args:
        value: The value.
        data_type: The Arrow type of the scalar; None to infer it from the value.

    Example:
        >>> arrow_scalar(3)
        <pyarrow.Int64Scalar: 3>
    """
    return _array_of_objects([value], data_type, mask=None)[0]


def numpy_array(values: pa.Array | pa.ChunkedArray, *, nulls: object = None) -> Any:
    """Return an array of NumPy's, as `to_numpy` does; it shares the memory of numbers that lie in one piece.

    Args:
        values: The values.
        nulls: The value in the place of nulls; None if the array has no nulls, or if `to_numpy` is to represent them.

    Example:
        >>> numpy_array(arrow_array([3, None]), nulls=0)
        array([3, 0])
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if nulls is not None and values.null_count:
        values = values.fill_null(arrow_scalar(nulls, values.type))
    is_plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if values.null_count or not (is_plain or pa.types.is_boolean(values.type)):
        return values.to_numpy(zero_copy_only=False)

    if not len(values):  # an empty array may have no memory
        return np.empty(0, values.type.to_pandas_dtype())
    _, memory = values.buffers()  # the first buffer says which values are null
    if is_plain:
        kind = np.dtype(values.type.to_pandas_dtype())
        return np.frombuffer(memory, kind, len(values), values.offset * kind.itemsize)
    # Arrow packs eight booleans in a byte, and a slice may begin inside a byte.
    bits = np.unpackbits(np.frombuffer(memory, np.uint8), count=values.offset + len(values), bitorder="little")
    return bits[values.offset :].view(np.bool_)


def arrow_table(columns: Mapping[str, Iterable[Any]]) -> pa.Table:
    """Return a table, as `pa.table` does.

    Args:
        columns: The values of each column, as `arrow_array` takes them.
    """
    return pa.table({name: arrow_array(values) for name, values in columns.items()})


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows."""
    return pa.Table.from_batches([], schema)


def _array_over(memory: Array, data_type: pa.DataType, length: int, mask: BoolArray | None) -> pa.Array:
    """Return an array over memory of NumPy's.

    Args:
        memory: The values, as Arrow has them in memory.
        data_type: The Arrow type of the values.
        length: The number of values.
        mask: True for each value that becomes a null; None if none does.
    """
    return pa.Array.from_buffers(data_type, length, [_validity(mask), pa.py_buffer(memory)])


def _bits(booleans: BoolArray) -> Array:
    """Return booleans as Arrow has them in memory, eight in a byte."""
    return np.packbits(booleans, bitorder="little")


def _array_of_objects(values: Sequence[Any], data_type: pa.DataType | None, mask: BoolArray | None) -> pa.Array:
    """Return an array of objects of Python; for the arguments see `arrow_array`."""
    if mask is not None:
        values = [None if is_null else value for value, is_null in zip(values, mask.tolist(), strict=True)]
    classes = set(map(type, values))
    has_nulls = type(None) in classes
    classes.discard(type(None))
    if not classes:
        return pa.nulls(len(values), data_type)
    if len(classes) > 1:  # pyarrow finds a type that all of them fit
        return pa.array(values, data_type)

    null_mask = np.fromiter((value is None for value in values), np.bool_, len(values)) if has_nulls else None
    try:
        return _array_of_class(classes.pop(), values, data_type, null_mask)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        return pa.array(values, data_type)  # its error says which value is wrong


def _array_of_class(
    element: type, values: Sequence[Any], data_type: pa.DataType | None, mask: BoolArray | None
) -> pa.Array:
    """Return an array of objects of one class.

    Args:
        element: The class of all objects that are not None.
        values: The objects.
        data_type: The Arrow type of the array; None to infer it from the class.
        mask: True for each object that is None; None if no object is.

    Raises:
        OverflowError: A number is too large, or there is more text than an array holds.
        UnicodeEncodeError: A text is not Unicode.
        pa.ArrowInvalid: A number is too large for the type.
    """
    if element is list and data_type is not None and pa.types.is_list(data_type):
        lists = [value or () for value in values]
        elements = arrow_array(chain.from_iterable(lists), data_type.value_type)
        memory = [_validity(mask), _offsets(list(map(len, lists)))]
        return pa.Array.from_buffers(data_type, len(values), memory, children=[elements])

    own_type = _TYPE_OF_CLASS.get(element)
    if own_type is None or not _can_be_cast(own_type, data_type):
        return pa.array(values, data_type)
    if own_type not in (pa.string(), pa.binary()):
        numbers = values if mask is None else [0 if value is None else value for value in values]  # 0 under a null
        return arrow_array(np.array(numbers, own_type.to_pandas_dtype()), data_type, mask=mask)

    # Text and bytes lie in memory one after the other, beside the places at which each begins. The array is of
    # `own_type`: where text or bytes are to have another type, `_can_be_cast` has said no above.
    if own_type == pa.string():
        values = [b"" if value is None else value.encode() for value in values]
    else:
        values = [b"" if value is None else value for value in values]
    memory = [_validity(mask), _offsets(list(map(len, values))), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(own_type, len(values), memory)


def _can_be_cast(own_type: pa.DataType, data_type: pa.DataType | None) -> bool:
    """Say whether a cast of an array gives the same values as `pa.array` makes of the objects themselves.

    Args:
        own_type: The Arrow type of the objects' class.
        data_type: The Arrow type that the array is to have; None for that of the class.
    """
    if data_type is None or data_type == own_type:
        return True
    return bool(pa.types.is_integer(own_type) and pa.types.is_integer(data_type))


def _validity(mask: BoolArray | None) -> pa.Buffer | None:
    """Return the buffer in which Arrow flags the values that are not null; None for no nulls."""
    return None if mask is None else pa.py_buffer(_bits(~mask))


def _offsets(lengths: Sequence[int]) -> pa.Buffer:
    """Return the buffer in which Arrow has the place where each value begins, and where the last one ends.

    Raises:
        OverflowError: The values together are too long for one array.
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > _LARGEST_OFFSET:
        raise OverflowError("an array cannot hold that much")
    return pa.py_buffer(offsets.astype(np.int32))
