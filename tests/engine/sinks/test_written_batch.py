"""A micro-batch that was written before a crash is recognized by its number."""

from __future__ import annotations

import pytest

from muntin_engine.sinks.written_batch import NO_BATCH, WrittenBatch, latest_watermark


def test_a_micro_batch_up_to_the_last_one_is_recognized() -> None:
    last_written = WrittenBatch(7, "a file")
    for batch_id in (0, 6, 7):
        assert last_written.includes(batch_id)
    assert not last_written.includes(8)
    assert not NO_BATCH.includes(0)


@pytest.mark.parametrize(
    ("previous", "watermark", "latest"),
    [(None, None, None), (None, 5, 5), (5, None, 5), (5, 3, 5), (5, 9, 9), (0, None, 0)],
)
def test_a_watermark_never_goes_back(previous: int | None, watermark: int | None, latest: int | None) -> None:
    assert latest_watermark(previous, watermark) == latest
