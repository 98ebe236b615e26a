"""DataFrames that nobody asks anything."""

from __future__ import annotations


class Frame:
    """Stands for a stream of Spark's, or a session: the name of its module is what tells to whom it belongs."""

    __module__ = "pyspark.sql.dataframe"
    isStreaming = True
    readStream = udf = None

    def __repr__(self) -> str:
        return "DataFrame[]"


class StaticFrame(Frame):
    """Stands for a DataFrame that has an end."""

    isStreaming = False
