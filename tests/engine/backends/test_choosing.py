"""The backend of an input, chosen by its type."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from muntin.errors import QueryError
from muntin_engine.backend_modules import SPARK
from muntin_engine.backends.choosing import backend_of, backend_of_all, is_input, is_stream, spark_backend
from tests.engine.api.frames import Frame, StaticFrame


class DerivedFrame(Frame):
    """A DataFrame of a class that its user wrote."""

    __module__ = "of_a_user"


class Column:
    """Something of Spark's that is no DataFrame."""

    __module__ = "pyspark.sql.column"


def test_a_frame_is_of_the_backend_of_the_package_that_its_class_or_a_base_of_it_is_from() -> None:
    assert backend_of(Frame()) is backend_of(DerivedFrame()) is spark_backend()
    assert type(spark_backend()).__module__ == SPARK


@pytest.mark.parametrize("thing", [Frame(), pd.DataFrame(), "rides.parquet"], ids=["Spark", "pandas", "file"])
def test_a_dataframe_and_the_path_of_a_file_are_inputs(thing: object) -> None:
    assert is_input(thing)


@pytest.mark.parametrize("thing", [Column(), None, 5], ids=["column", "None", "number"])
def test_anything_else_is_no_input(thing: object) -> None:
    assert not is_input(thing)


def test_a_dataframe_of_spark_without_an_end_is_a_stream() -> None:
    assert is_stream(Frame())
    assert not is_stream(StaticFrame())


def test_what_no_backend_takes_is_refused_by_its_type() -> None:
    with pytest.raises(
        QueryError, match=r"a int is no input of a query\n  expected: a DataFrame of Spark's, or a data"
    ):
        backend_of(5)


def test_the_inputs_of_a_query_are_of_one_backend() -> None:
    assert backend_of_all([Frame(), StaticFrame()]) is spark_backend()
    with pytest.raises(QueryError, match="all DataFrames of Spark's, or all tables in this process; got both"):
        backend_of_all([Frame(), pd.DataFrame()])


def test_nothing_is_imported_to_find_out_that_something_is_no_input() -> None:
    code = (
        "import sys; from muntin_engine.backends.choosing import is_input; is_input(5)\n"
        "print(*sorted({'pyspark', 'pyarrow', 'muntin_engine.backends.spark'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []
