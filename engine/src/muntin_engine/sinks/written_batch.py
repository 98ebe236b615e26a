"""The last micro-batch that a sink has, by which one that was written before a crash is recognized.

Spark commits a micro-batch after its sinks. After a crash in between it runs the micro-batch again, with the same
number and the same rows. Each sink keeps the number of its last micro-batch in the transaction, the rename or the file
that makes the rows visible, and asks `WrittenBatch.includes` before it writes:

- tables skip a micro-batch that they have: `TableSink`, `ChangelogTable`;
- `ParquetFolder` replaces its files, as the record is written after the folder and may be missing;
- `KafkaTopic` cannot know, and sends messages with the same ids.

Whether sinks and checkpoint go on together is decided when a query starts, by the same record: see
`backends/spark/checkpoints/sink_checks.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class WrittenBatch(NamedTuple):
    """A micro-batch that a sink has.

    Attributes:
        number: The number of the micro-batch; -1 if the sink has none.
        input_id: The id of the input of the micro-batch, as `Sink.take_input_id` got it; empty if it is not known.
    """

    number: int
    input_id: str = ""

    def includes(self, batch_id: int) -> bool:
        """Return True if a sink whose last micro-batch is this one has another micro-batch too.

        A sink asks this of the micro-batch that it is about to write, to recognize one that was written before a crash.

        Args:
            batch_id: The number of the micro-batch that is about to be written.

        Example:
            >>> last = WrittenBatch(7)
            >>> last.includes(7), last.includes(8)
            (True, False)
        """
        return batch_id <= self.number


NO_BATCH: Final = WrittenBatch(-1)
"""The last micro-batch of a sink that has none."""


def latest_watermark(previous: int | None, watermark: int | None) -> int | None:
    """Return the watermark that a sink keeps after a micro-batch: the later one of two.

    Args:
        previous: The watermark that the sink kept before; None if it has none.
        watermark: The watermark that the sink got in this run; None if it got none, as in a micro-batch without rows of
            input that is the first one of a run.

    Returns:
        None if neither is known.
    """
    if previous is None:
        return watermark
    if watermark is None:
        return previous
    return max(previous, watermark)
