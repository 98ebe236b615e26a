"""Stand-ins for DataFrames of Spark, for calls that read nothing of them."""

from __future__ import annotations


class Frame:
    """Stands for a stream of Spark, or for a session: calls know it by the name of its module."""

    __module__ = "pyspark.sql.dataframe"
    isStreaming = True
    readStream = udf = None

    def __repr__(self) -> str:
        return "DataFrame[]"


class StaticFrame(Frame):
    """Stands for a DataFrame that has an end."""

    isStreaming = False
