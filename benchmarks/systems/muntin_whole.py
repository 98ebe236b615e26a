"""Muntin with an average of all values at once, as one writes it first: a class, and a function of NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.plain_aggregates import WholeAverage
from benchmarks.systems.system import SparkSystem
from muntin_engine import ModuleCall, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WHOLE: Final = module(WholeAverage, "value")
FUNCTION: Final = module(np.mean, "value", returns=float)


class MuntinWhole(SparkSystem):
    """A class that has `compute_result` alone."""

    name = "muntin class"
    call: ModuleCall = WHOLE

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, self.call, "auto")


class MuntinFunction(MuntinWhole):
    """A function of NumPy's, called once for each window."""

    name = "muntin function"
    call = FUNCTION
