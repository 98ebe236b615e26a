"""A function as a sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING

from muntin_engine.writing.sink import Sink, WriteFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WATERMARK = "watermark"


@dataclass
class FunctionSink(Sink):
    """Hands each micro-batch to a function, as `foreachBatch` does.

    Attributes:
        function: Takes the rows of a micro-batch, and its number; as `watermark` the output watermark after it, if it
            has a parameter of that name.
    """

    function: WriteFunction
    _given: dict[str, int] = field(default_factory=dict, init=False)

    def __str__(self) -> str:
        return f"the function {getattr(self.function, '__qualname__', self.function)}"

    @property
    def takes_watermark(self) -> bool:
        """True if the function has a parameter for the output watermark."""
        try:
            return _WATERMARK in signature(self.function).parameters
        except (TypeError, ValueError):  # of a function that was not written in Python
            return False

    def take_watermark(self, watermark: int) -> None:
        """Keep it for the next call; a micro-batch without a row says none, and the one before holds."""
        if self.takes_watermark:
            self._given[_WATERMARK] = max(watermark, self._given.get(_WATERMARK, watermark))

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Call the function."""
        self.function(batch, batch_id, **self._given)
