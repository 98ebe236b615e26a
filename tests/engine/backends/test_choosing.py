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
    """Belongs to Spark, and is no DataFrame."""

    __module__ = "pyspark.sql.column"


def test_a_type_belongs_to_the_backend_of_the_package_that_it_or_its_base_is_of() -> None:
    assert backend_of(Frame()) is backend_of(DerivedFrame()) is spark_backend()
    assert type(spark_backend()).__module__ == SPARK


def test_a_dataframe_is_an_input_and_nothing_else_is() -> None:
    assert [is_input(thing) for thing in (Frame(), pd.DataFrame(), "rides.parquet")] == [True] * 3
    assert [is_input(thing) for thing in (Column(), None, 5)] == [False] * 3
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
    code = "import sys; from muntin_engine.backends.choosing import is_input; is_input(5)"
    code += "; print(*sorted({'pyspark', 'pyarrow', 'muntin_engine.backends.spark'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
