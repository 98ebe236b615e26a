"""A stream of a job under test: what the job's function gets in the place of a streaming DataFrame of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from muntin_engine.backends.planning.needs_spark import NeedsSparkError

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.backends.local.frames.micro_batch import MicroBatch


class LocalStream:
    """A stream with the rows that it has in one micro-batch.

    `events()` takes it. Whatever else a DataFrame of Spark's has, it does not: a job that asks for that needs Spark.

    Attributes:
        micro_batch: The micro-batch.
    """

    def __init__(self, rows: pa.Table, micro_batch: MicroBatch) -> None:
        """Make a stream.

        Args:
            rows: The rows that it has in the micro-batch.
            micro_batch: The micro-batch.
        """
        self.micro_batch = micro_batch
        self._rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of its columns, as a DataFrame of Spark's has them."""
        return list(self._rows.schema.names)

    def table(self) -> pa.Table:
        """Return the rows of the micro-batch."""
        return self._rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows as Arrow data does, by which `backend_modules` knows that an object is a table."""
        return self._rows.__arrow_c_stream__(requested_schema)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse an attribute that only a DataFrame of Spark's has; Python calls this for attributes that are not here.

        Raises:
            NeedsSparkError: In all cases, except for names of protocols.
        """
        if name.startswith("__"):  # a library asks whether an object has a protocol, and expects this error
            raise AttributeError(name)
        raise NeedsSparkError(
            f"df.{name}",
            f"a stream in this process has no {name!r}: that is of a DataFrame of Spark's\n"
            "  conditions and columns are text in SQL: events(df, ...).where('km > 2');\n"
            "  or test the job on Spark: streaming(job, schema, backend='spark')",
        )

    def __getitem__(self, name: object) -> NoReturn:
        """Refuse to return a column object, as only Spark has them.

        Raises:
            NeedsSparkError: In all cases.
        """
        raise NeedsSparkError(
            f"df[{name!r}]",
            f"a stream in this process has no column objects, as df[{name!r}] is one of Spark's\n"
            "  name a column by its text; or test the job on Spark: streaming(job, schema, backend='spark')",
        )
