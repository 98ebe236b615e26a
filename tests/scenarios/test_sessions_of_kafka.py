"""When sessions close and what is late, beside a model of Kafka Streams' sessions by the rules of its documentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from muntin import Lateness, correct, session
from muntin.progress import bounded_delay
from tests.scenarios.feed import Feed, Total, at, query

GAP = 5
GRACE = 3


@dataclass
class KafkaSessions:
    """The sessions of one key, which end with their last record, and are emitted when they close.

    A session is closed when the stream time is past its end by more than the gap and the grace. A record is dropped if
    the session that it makes, or that it becomes part of, is closed.
    """

    stream_time: int = -1
    open: list[tuple[int, int, int]] = field(default_factory=list)

    def take(self, time: int, *, is_other_key: bool = False) -> tuple[list[tuple[int, int, int]], bool]:
        """Take a record; return the sessions that close, by first time, last time and count, and if it is dropped."""
        self.stream_time = max(self.stream_time, time)
        limit = self.stream_time - GRACE - GAP
        is_dropped = False
        if not is_other_key:
            near = [session for session in self.open if session[0] - GAP <= time <= session[1] + GAP]
            merged = (
                min([time, *(first for first, _, _ in near)]),
                max([time, *(last for _, last, _ in near)]),
                1 + sum(count for _, _, count in near),
            )
            is_dropped = merged[1] < limit
            if not is_dropped:
                self.open = sorted([merged, *(session for session in self.open if session not in near)])
        closed = [session for session in self.open if session[1] < limit]
        self.open = [session for session in self.open if session[1] >= limit]
        return closed, is_dropped


def spelled(first: int, last: int, count: int) -> str:
    return f"+[{first},{last + GAP}) {count}"


def sessions(delay: int, late: Lateness | None = None) -> Feed:
    tested = query(session(GAP), Total(), lifetimes="points", progress=bounded_delay(delay), late=late or Lateness())
    return Feed(tested, "general")


@pytest.mark.cases(6)
@pytest.mark.parametrize("seed", range(20))
def test_with_the_grace_as_delay_sessions_close_with_the_same_record(seed: int) -> None:
    """Records are late by the grace at most, which both take; each is a micro-batch."""
    random = Random(seed)
    kafka = KafkaSessions()
    feed = sessions(GRACE)
    newest = 0
    for _ in range(60):
        time = max(0, newest + random.choice((-3, -2, -1, 0, 0, 1, 2, 4, 6, 9)))
        newest = max(newest, time)
        is_other_key = random.random() < 0.3
        closed, is_dropped = kafka.take(time, is_other_key=is_other_key)
        result = feed.batch(at(time, 0 if is_other_key else 1, "other" if is_other_key else "k"))
        mine = [change for change in result.changes if not change.endswith(" 0")]
        assert mine == [spelled(*session) for session in closed], f"after {time}, newest {newest}"
        assert not is_dropped
        assert result.reasons == []


#  10  12        17   20 21        26
#  *---*----)    !              the session [10, 17)
#                gap  grace
@pytest.mark.parametrize(("delay", "closes_at"), [(GRACE, 21), (GRACE + GAP, 26)])
def test_a_delay_of_the_grace_and_the_gap_closes_a_gap_later(delay: int, closes_at: int) -> None:
    feed = sessions(delay)
    feed.batch(at(10), at(12))
    assert feed.batch(at(closes_at - 1, 1, "other")).changes == []
    assert feed.batch(at(closes_at, 1, "other")).changes == ["+[10,17) 2"]
    kafka = KafkaSessions()
    assert [kafka.take(10), kafka.take(12), kafka.take(20, is_other_key=True)] == [([], False)] * 3
    assert kafka.take(21, is_other_key=True) == ([(10, 12, 2)], False)


@pytest.mark.parametrize("late", [12, 13, 16])
def test_what_kafka_takes_behind_the_grace_is_late_unless_it_corrects(late: int) -> None:
    """The stream time is 20: Kafka drops records before 12, which is behind by more than the gap and the grace."""
    kafka = KafkaSessions(stream_time=20)
    assert kafka.take(late) == ([], False)
    closed, _ = kafka.take(late + GAP + GRACE + 1, is_other_key=True)
    assert closed == [(late, late, 1)]

    plain = sessions(GRACE)
    plain.batch(at(20, 1, "other"))
    assert plain.batch(at(late)).reasons == ["late"]

    correcting = sessions(GRACE, correct(GAP))
    correcting.batch(at(20, 1, "other"))
    result = correcting.batch(at(late))
    assert result.reasons == []
    emitted = [*result.changes, *correcting.batch(at(late + GAP + GRACE + 1, 1, "other")).changes]
    assert emitted == [spelled(late, late, 1)]


def test_before_12_both_drop_it() -> None:
    kafka = KafkaSessions(stream_time=20)
    assert kafka.take(11) == ([], True)
    correcting = sessions(GRACE, correct(GAP))
    correcting.batch(at(20, 1, "other"))
    assert correcting.batch(at(11)).reasons == ["late"]
