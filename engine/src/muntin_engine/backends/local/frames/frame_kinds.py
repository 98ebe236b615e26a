"""The kinds of tables that a query reads in this process.

A kind is known by the type of the object, without importing a library that the object does not come from. What goes in
decides what comes out: a pandas or Polars frame gives its like, a relation of DuckDB a relation; Arrow data and files
give a `pyarrow.Table`.
"""

from __future__ import annotations

from typing import Final

from muntin_engine.backends.local.frames.arrow_data import ArrowData, StreamUnderTest
from muntin_engine.backends.local.frames.duckdb_relation import DuckdbRelation
from muntin_engine.backends.local.frames.files import Files
from muntin_engine.backends.local.frames.frame_kind import FrameKind
from muntin_engine.backends.local.frames.pandas_frame import PandasFrame
from muntin_engine.backends.local.frames.polars_frames import LazyPolarsFrame, PolarsFrame

KINDS: Final[tuple[FrameKind, ...]] = (
    PandasFrame(),
    PolarsFrame(),
    LazyPolarsFrame(),
    DuckdbRelation(),
    StreamUnderTest(),
    ArrowData(),
    Files(),
)
"""The kinds, those first that offer more than a stream of Arrow data."""


def kind_of(frame: object) -> FrameKind | None:
    """Return the kind of a table; None for an object that is no table in this process."""
    for kind in KINDS:
        if kind.takes(frame):
            return kind
    return None
