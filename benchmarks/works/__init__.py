"""The works, by theme."""

from benchmarks.works.all_works import WORKS
from benchmarks.works.names import COLUMNAR, SLICED, SPARK
from benchmarks.works.work import FILES, FULL_ROWS, Work

__all__ = ["COLUMNAR", "FILES", "FULL_ROWS", "SLICED", "SPARK", "WORKS", "Work"]
