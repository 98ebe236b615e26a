"""A function that writes micro-batches, as a sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muntin_engine.sinks.sink import Sink, WriteFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Hands each micro-batch to a function, as `foreachBatch` does.

    Attributes:
        function: Takes the rows of a micro-batch, and its number.
    """

    function: WriteFunction

    def __str__(self) -> str:
        return f"the function {getattr(self.function, '__qualname__', self.function)}"

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Call the function."""
        self.function(batch, batch_id)
