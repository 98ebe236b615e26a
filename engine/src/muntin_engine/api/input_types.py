"""The types of inputs, by which a type checker knows of what kind the output of a query is.

A query over a Polars frame returns a Polars frame, and one over a DataFrame of Spark's a DataFrame. `EventStream`,
`WindowedStream` and `Query` carry the type of their input as a parameter, which nothing reads at run time.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

InputT = TypeVar("InputT", covariant=True, default=Any)
"""The type of the first input of a query; anything where nobody says."""

FrameT = TypeVar("FrameT")
"""The type of what a function takes as an input."""

DeclaredColumns: TypeAlias = "str | StructType | pa.Schema | type"
"""The columns of an input, as its query writer declares them: text in Spark's DDL, a schema, or a class of records."""

Path: TypeAlias = str | PathLike[str]
"""The path of files, over which a query returns a `pyarrow.Table`."""
