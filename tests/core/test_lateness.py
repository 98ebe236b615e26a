"""Rows behind the watermark: how late they are, adjusted, or taken to correct results; keys that are further."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import EARLIEST, INFINITY, EarlyEmission, EmitPolicy, Lateness, LatePolicy, correct, early, tumbling
from muntin.triggers import each, past_part
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.build import Feed, query, reasons, revision, row, spelled
from tests.triggers.meaning import GiveUp

ADJUSTING = query(tumbling(10), late=Lateness(LatePolicy.ADJUST))
CORRECTING = query(tumbling(10), emit=EmitPolicy.SPECULATIVE, late=correct(10), waits_for_watermark=True)


def late_by(result: BatchResult) -> list[int | None]:
    return [rejection.late_by for _, rejection in result.rejections if rejection.is_late]


def test_a_late_row_says_by_how_much() -> None:
    feed = Feed(query(tumbling(10)))
    feed.batch(row("a", 12, 30), watermark=20)
    result = feed.batch(row("b", 13, 40), row("c", 19), revision("a", 12, 30, 15), row("d", 3, 2))
    found = {rejection.change.id: (str(rejection.reason), rejection.late_by) for _, rejection in result.rejections}
    assert found == {"a": ("late", 5), "b": ("late", 7), "c": ("late", 1), "d": ("empty lifetime", None)}


def test_after_the_end_of_the_stream_a_row_is_late_by_no_number() -> None:
    feed = Feed(query(tumbling(10)))
    feed.batch(watermark=INFINITY)
    assert late_by(feed.batch(row("a", 12, 30))) == [None]


def test_a_late_insertion_that_ends_after_the_punctuation_starts_there() -> None:
    """
              0         10        20        30
    a         [----------------------------)       late, but straddles: becomes
                                  [--------)
    b             [---------------)                ends at the watermark: late
    p              .                               a point: late
    """
    feed = Feed(ADJUSTING)
    feed.batch(watermark=20)
    result = feed.batch(row("a", 0, 29, 7), row("b", 4, 20), row("p", 5, 6))
    assert (result.accepted, reasons(result), late_by(result)) == (1, ["late", "late"], [16, 15])
    assert spelled(feed.batch(watermark=30)) == ["+1 [20,30) (7,)"]


def test_an_adjusted_event_may_be_revised_and_is_deleted_by_its_true_start() -> None:
    feed = Feed(ADJUSTING)
    feed.batch(watermark=20)
    feed.batch(row("a", 0, 50, 1), row("b", 0, 50, 2), row("c", 0, 50, 4))
    assert not reasons(feed.batch(revision("a", 0, 50, 25), revision("b", 0, 50, 0), revision("c", 0, 50, 3)))
    result = feed.batch(watermark=INFINITY)
    assert [text.split(" ", 1)[1] for text in spelled(result)] == ["[20,30) (1,)"]


def test_after_the_end_nothing_is_adjusted() -> None:
    feed = Feed(ADJUSTING)
    feed.batch(watermark=INFINITY)
    assert reasons(feed.batch(row("a", 0))) == ["late"]


def test_late_rows_correct_a_window_for_a_while() -> None:
    """
    windows        0         10        20        30
    punctuation              10: [0, 10) is out
    a row at 5               [0, 10) is corrected
    punctuation                        20: [0, 10) is closed, [10, 20) is out
    rows at 9, 15            9 is late, [10, 20) is corrected
    """
    feed = Feed(CORRECTING)
    assert spelled(feed.batch(row("a", 1, 2, 1), row("b", 12, 13, 3))) == []
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (1,)"]
    assert spelled(feed.batch(row("c", 5, 6, 2))) == ["-1 [0,10) (1,)", "+2 [0,10) (1, 2)"]
    assert spelled(feed.batch(watermark=20)) == ["+3 [10,20) (3,)"]
    result = feed.batch(row("d", 9, 10), row("e", 15, 16, 4))
    assert (reasons(result), late_by(result)) == (["late"], [1])
    assert spelled(result) == ["-3 [10,20) (3,)", "+4 [10,20) (3, 4)"]


def test_a_speculative_result_comes_with_the_punctuation_though_it_can_be_corrected() -> None:
    """
              0         10        20
    a            [)                        3 to 4: the newest start
    punctuation         .                  10: the window's end, as for final output
    b               [)                     6 to 7: late, within the 5 ticks that are allowed
    c            [)                        3 to 4: later than that
    """
    feed = Feed(query(tumbling(10), emit=EmitPolicy.SPECULATIVE, late=correct(5)))
    assert spelled(feed.batch(row("a", 3, 4, 1), watermark=10)) == ["+1 [0,10) (1,)"]
    assert spelled(feed.batch(row("b", 6, 7, 2))) == ["-1 [0,10) (1,)", "+2 [0,10) (1, 2)"]
    assert late_by(feed.batch(row("c", 3, 4, 4), watermark=15)) == [2]


def test_results_that_can_be_corrected_are_not_promised() -> None:
    feed = Feed(CORRECTING)
    result = feed.batch(row("a", 1, 2), watermark=20)
    assert (result.progress.watermark, result.watermark) == (20, 10)
    assert feed.batch(watermark=INFINITY).watermark == INFINITY
    assert feed.states == []


class KeyFeed:
    """A bucket whose keys punctuate themselves."""

    def __init__(self, emit: EmitPolicy | EarlyEmission = EmitPolicy.FINAL) -> None:
        self.cells = MemoryCells()
        self.query = query(tumbling(10), emit=emit)

    def batch(
        self,
        rows: Sequence[tuple[Key, Sequence[InputChange]]] = (),
        watermark: int = EARLIEST,
        **key_watermarks: int,
    ) -> BatchResult:
        bucket = Bucket(self.query, self.cells, Codec(), {})
        arrived = Progress(watermark, EARLIEST if watermark == INFINITY else watermark)
        told = [((key,), tick) for key, tick in key_watermarks.items()]
        result = bucket.process(rows, arrived, key_watermarks=told)
        assert result.accepted + len(result.rejections) == sum(len(some) for _, some in rows)
        return result

    @property
    def holds_keys(self) -> bool:
        return list(self.cells.cells) != ["metadata"]


def test_a_key_that_punctuates_itself_closes_its_own_windows_alone() -> None:
    feed = KeyFeed()
    rows = [((key,), [row("x", 3, 4), row("y", 25, 26)]) for key in ("a", "b")]
    assert [key for key, _ in feed.batch(rows, a=10).output] == [("a",)]
    assert [key for key, _ in feed.batch(watermark=10).output] == [("b",)]


def test_what_comes_behind_the_punctuation_of_its_key_is_late() -> None:
    feed = KeyFeed()
    feed.batch(watermark=5, a=20)
    result = feed.batch([((key,), [row("x", 12, 13)]) for key in ("a", "b")])
    assert [(key, rejection.late_by) for key, rejection in result.rejections] == [(("a",), 8)]
    result = feed.batch([(("a",), [row("x", 2, 13)])], watermark=30)
    assert late_by(result) == [18]
    assert late_by(feed.batch([(("a",), [row("x", 2, 13)])])) == [28]


def test_a_key_without_events_is_forgotten_when_the_input_has_caught_up() -> None:
    feed = KeyFeed()
    feed.batch(a=20)
    assert feed.holds_keys
    feed.batch(watermark=19)
    assert feed.holds_keys
    feed.batch(watermark=20)
    assert not feed.holds_keys


def test_a_key_may_close_itself_for_good() -> None:
    feed = KeyFeed()
    result = feed.batch([(("a",), [row("x", 3, 4)])], a=INFINITY)
    assert len(result.output) == 1
    result = feed.batch([(("a",), [row("y", 500, 501)]), (("b",), [row("y", 500, 501)])])
    assert [(key, rejection.late_by) for key, rejection in result.rejections] == [(("a",), None)]


def test_a_trigger_that_waits_for_less_than_its_key_has_reached_is_asked_in_the_next_batch() -> None:
    """The first trigger ends without firing at 3, the second fires at 5; the input is at 1, and the key at 7."""
    feed = KeyFeed(early(each(GiveUp(3), past_part(0.5))))
    assert spelled(feed.batch([(("a",), [row("x", 1, 2, 4)])], a=7)) == []
    assert spelled(feed.batch()) == ["+1 [0,10) (4,)"]
