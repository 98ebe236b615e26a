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
        read: The name of the input of the micro-batch, as `Sink.take_read` got it; empty if that is not known.
    """

    number: int
    read: str = ""

    def includes(self, batch_id: int) -> bool:
        """Recognize a micro-batch that was written before: True if this is the last one of a sink that has it.

        Args:
            batch_id: The number of the micro-batch that is to be written.

        Example:
            >>> last = WrittenBatch(7)
            >>> last.includes(7), last.includes(8)
            (True, False)
        """
        return batch_id <= self.number


NO_BATCH: Final = WrittenBatch(-1)
"""The last micro-batch of a sink that has none."""


def latest_watermark(previous: int | None, watermark: int | None) -> int | None:
    """Return the watermark that a sink keeps after a micro-batch: it never goes back. None if none is known.

    Args:
        previous: The watermark that the sink had.
        watermark: The watermark of the micro-batch.
    """
    if previous is None or watermark is None:
        return watermark if previous is None else previous
    return max(previous, watermark)
