# mypy: disable-error-code="misc, name-defined, no-untyped-def, no-any-return"
"""Nexmark's window queries by Beam itself, as Beam's own package has them, on the bids of `examples/nexmark`.

`make test-others` runs this where Beam is installed. `make test` compares the engine with the same answers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.nexmark.site import SECOND, Bid, random_bids
from muntin import INFINITY, Event
from muntin.changes import Insertion, Punctuation
from muntin.testing import KeyedChange, Script
from muntin_engine.testing import band_disorder
from tests.examples.nexmark_answers import bids_per_period, bids_per_session, highest_bids, hot_items

beam = pytest.importorskip("apache_beam", reason="apache-beam is not installed")
direct = pytest.importorskip("apache_beam.runners.direct.direct_runner", reason="apache-beam is not installed")
fn_api = pytest.importorskip("apache_beam.runners.portability.fn_api_runner", reason="apache-beam is not installed")
options = pytest.importorskip("apache_beam.options.pipeline_options", reason="apache-beam is not installed")
test_stream = pytest.importorskip("apache_beam.testing.test_stream", reason="apache-beam is not installed")
nexmark = "apache_beam.testing.benchmarks.nexmark"
model = pytest.importorskip(f"{nexmark}.models.nexmark_model", reason="apache-beam is not installed")
query5, query7, query11, query12 = (
    pytest.importorskip(f"{nexmark}.queries.query{number}", reason="apache-beam is not installed")
    for number in (5, 7, 11, 12)
)

SIZE = 10 * SECOND
PERIOD = 5 * SECOND
GAP = 10 * SECOND
SEEDS = range(2)
MANY = 300
FEW = 100
"""Numbers of bids; the query of the clock has the fewer ones."""


@pytest.mark.parametrize("seed", SEEDS)
def test_query_5_of_beam_gives_the_auctions_with_the_most_bids_of_each_window(seed: int, tmp_path: Path) -> None:
    bids = random_bids(seed, MANY)
    metadata = {"window_size_sec": SIZE // SECOND, "window_period_sec": PERIOD // SECOND}
    results = by_beam(query5, metadata, arriving(bids), tmp_path)
    items = Counter((start, row["auction_id"], row["num"]) for start, _end, row in results)
    assert items == hot_items(bids, SIZE, PERIOD)


@pytest.mark.parametrize("seed", SEEDS)
def test_query_7_of_beam_gives_the_highest_bids_of_each_window(seed: int, tmp_path: Path) -> None:
    bids = random_bids(seed, MANY)
    results = by_beam(query7, {"window_size_sec": SIZE // SECOND}, arriving(bids), tmp_path)
    assert Counter((start, *row) for start, _end, row in results) == highest_bids(bids, SIZE)


@pytest.mark.parametrize("seed", SEEDS)
def test_query_11_of_beam_gives_the_number_of_bids_of_each_session(seed: int, tmp_path: Path) -> None:
    bids = random_bids(seed, MANY)
    expected = bids_per_session(bids, GAP)
    metadata = {"window_size_sec": GAP // SECOND, "max_log_events": 4, "occasional_delay_sec": 0}
    results = by_beam(query11, metadata, arriving(bids), tmp_path)

    # Beam emits a session in several rows, each with some of its bids and a window that starts in the session.
    counts: Counter[tuple[int, ...]] = Counter()
    for start, _end, row in results:
        (bidder_session,) = [
            (bidder, first, last)
            for bidder, first, last, _count in expected
            if bidder == row["bidder_id"] and first <= start <= last
        ]
        counts[bidder_session] += row["bid_count"]
    assert {(*bidder_session, count) for bidder_session, count in counts.items()} == set(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_query_12_of_beam_gives_the_number_of_bids_in_each_period_of_the_clock(seed: int, tmp_path: Path) -> None:
    bids = [bid._replace(at=bid.at // SECOND * SECOND) for bid in random_bids(seed, FEW)]
    results = by_beam(query12, {"window_size_sec": 10}, by_clock(bids), tmp_path)
    expected = bids_per_period([(bid.at, bid) for bid in bids], 10 * SECOND)
    counts = Counter((row["bidder_id"], row["bid_count"]) for _start, _end, row in results)
    assert counts == Counter((bidder, count) for bidder, _period, count in expected.elements())


def bid_of_beam(bid: Bid) -> Any:
    """Return a bid as Beam has it, at its time."""
    timed = beam.window.TimestampedValue
    return timed(model.Bid(bid.auction, bid.bidder, bid.price, bid.at, ""), instant(bid.at))


def in_disorder(bids: Sequence[Bid]) -> Script:
    """Return the bids as a stream that arrives in a band of disorder of eight seconds."""
    changes = [KeyedChange(None, Insertion(id, Event.point(bid.at, bid))) for id, bid in enumerate(bids)]
    return band_disorder(Script((*changes, Punctuation(INFINITY))), 8 * SECOND, seed=7, every=SECOND)


def arriving(bids: Sequence[Bid]) -> Any:
    """Return the bids as Beam's test stream, in order of arrival, with watermarks where the script has punctuation."""
    stream = test_stream.TestStream()
    for batch in in_disorder(bids).batches():
        stream.add_elements([bid_of_beam(step.change.event.payload) for step in batch.changes])
        if batch.punctuation not in (None, INFINITY):
            stream.advance_watermark_to(instant(batch.punctuation))
    return stream.advance_watermark_to_infinity()


def by_clock(bids: Sequence[Bid]) -> Any:
    """Return the bids as Beam's test stream, with a clock that is at each bid when it arrives."""
    stream = test_stream.TestStream().advance_watermark_to(0)
    clock = 0
    for bid in bids:
        if bid.at > clock:
            stream.advance_processing_time((bid.at - clock) / SECOND)
            clock = bid.at
        stream.add_elements([bid_of_beam(bid)])
    return stream.advance_processing_time(100).advance_watermark_to_infinity()


def by_beam(
    query: Any, metadata: dict[str, int], stream: Any, folder: Path, *, at_once: bool = False
) -> list[tuple[int, int, Any]]:
    """Return the start and the end of the window of each row of a query, and the row.

    Args:
        query: Module of the query.
        metadata: Options of the query.
        stream: Input.
        folder: Folder that rows are written to.
        at_once: True for an input that is all there, on the runner that has state and timers.
    """
    file = folder / "rows"
    file.touch()
    pipeline_options = options.PipelineOptions([])
    pipeline_options.view_as(options.StandardOptions).streaming = not at_once
    runner = fn_api.FnApiRunner() if at_once else direct.BundleBasedDirectRunner()
    with beam.Pipeline(runner=runner, options=pipeline_options) as pipeline:
        _ = query.load(pipeline | stream, metadata, pipeline_options) | "written" >> beam.ParDo(Write(str(file)))
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()]


class Write(beam.DoFn):
    """Appends each row as JSON to a file, after its window: a bid as a list of its fields, and other rows by names."""

    def __init__(self, file: str) -> None:
        self.file = file

    def process(self, row, window=beam.DoFn.WindowParam):
        if isinstance(row, model.Bid):
            row = [row.auction, row.bidder, row.price, model.unnest_to_json(row.date_time)]
        elif not isinstance(row, dict):
            row = model.construct_json_dict(row)
        with open(self.file, "a") as lines:
            lines.write(json.dumps([*map(ticks, window_of(window)), row]) + "\n")


def window_of(window: Any) -> tuple[Any, Any]:
    """Return the start and the end of a window; two zeros of the one that has no start."""
    if window.start <= beam.window.MIN_TIMESTAMP:
        return (0, 0)
    return (window.start, window.end)


def instant(ticks: int) -> Any:
    """Return a time of Beam, given in milliseconds."""
    return beam.utils.timestamp.Timestamp(micros=1_000 * ticks)


def ticks(instant: Any) -> int:
    """Return a time of Beam, or one that is a number already, in milliseconds."""
    return int(instant.micros // 1_000) if hasattr(instant, "micros") else instant
