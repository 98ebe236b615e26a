"""The demo's three files for a few days of flights, as plain pandas says that they must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow.parquet as pq

from demo.answers import ORDER
from demo.run import Choice
from tests.demo import truth

DAYS: Final = 2
"""The days of flights that are asked about."""

Question = Callable[[pd.DataFrame], pd.DataFrame]
"""Answers a question of the demo from flights, in plain pandas; it has the name of the question."""

TRUTH: Final[list[Question]] = [truth.airborne, truth.delays, truth.cascades]

TIME: Final = "timestamp[us, tz=UTC]"
TYPES: Final = {
    "airborne": {"origin": "string", "start": TIME, "end": TIME, "planes": "int64", "miles": "double"},
    "delays": {
        **{"carrier": "string", "start": TIME, "end": TIME},
        **{"flights": "int64", "mean_delay": "double", "p90_delay": "double"},
    },
    "cascades": {"tailnum": "string", "first": "int64", "second": "int64", "arrival": TIME, "departure": TIME},
}
"""The columns of each answer."""


def assert_right(question: Question, folder: Path) -> None:
    """Check that the demo's file has the answer of plain pandas: its rows, their order, and the types of its columns.

    Args:
        question: The question, as plain pandas answers it.
        folder: The folder of the demo's files.
    """
    name = question.__name__
    expected = question(Choice(days=DAYS).flights()).sort_values(ORDER[name], ignore_index=True)
    file = folder / f"{name}.parquet"
    answer = pd.read_parquet(file)

    assert len(expected) > 0
    assert {field.name: str(field.type) for field in pq.read_schema(file)} == TYPES[name]
    pd.testing.assert_frame_equal(answer.astype(expected.dtypes), expected)
