"""When sessions close and what is late, beside a model of Kafka Streams' sessions by the rules of its documentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import pytest

from muntin import Lateness, correct, session
from muntin.progress import bounded_delay
from tests.scenarios.feed import Feed, Total, at, query

GAP = 5
GRACE = 3


class Session(NamedTuple):
    """A session: its first and last record, and how many records it has."""

    first: int
    last: int
    size: int

    def accepts(self, time: int) -> bool:
        """True if a record at a time is within the gap of this session."""
        return self.first - GAP <= time <= self.last + GAP


@dataclass
class KafkaSessions:
    """The sessions of one key, which end with their last record, and are emitted when they close.

    A session is closed when the stream time is past its end by more than the gap and the grace. A record is dropped if
    the session that it makes, or that it becomes part of, is closed.
    """

    stream_time: int = -1
    open: list[Session] = field(default_factory=list)

    def add_record(self, time: int, *, is_other_key: bool = False) -> tuple[list[Session], bool]:
        """Add a record; return the sessions that close, and True if it is dropped.

        Args:
            time: Time of the record.
            is_other_key: True if the record is of another key, so that it only advances the stream time.
        """
        self.stream_time = max(self.stream_time, time)
        limit = self.stream_time - GRACE - GAP
        is_dropped = False
        if not is_other_key:
            merged = Session(time, time, 1)
            untouched: list[Session] = []
            for session in self.open:
                if session.accepts(time):
                    first = min(merged.first, session.first)
                    last = max(merged.last, session.last)
                    merged = Session(first, last, merged.size + session.size)
                else:
                    untouched.append(session)
            is_dropped = merged.last < limit
            if not is_dropped:
                self.open = sorted([merged, *untouched])
        closed = [session for session in self.open if session.last < limit]
        self.open = [session for session in self.open if session.last >= limit]
        return closed, is_dropped


def as_change(kafka_session: Session) -> str:
    """Return a session as `Result.changes` has it: its window ends a gap after the last record."""
    return f"+[{kafka_session.first},{kafka_session.last + GAP}) {kafka_session.size}"


def feed_of_sessions(delay: int, late: Lateness | None = None) -> Feed:
    """Return a feed of session windows whose watermark is behind the newest record by a delay."""
    policy = bounded_delay(delay)
    session_query = query(session(GAP), Total(), lifetimes="points", progress=policy, late=late or Lateness())
    return Feed(session_query, "general")


@pytest.mark.cases(6)
@pytest.mark.parametrize("seed", range(20))
def test_with_the_grace_as_delay_sessions_close_with_the_same_record(seed: int) -> None:
    """Records are late by the grace at most, which both take; each is a micro-batch.

    A record of the key `k` has the payload 1, one of another key 0, so that the sums of `k` are sizes of sessions.
    """
    random = Random(seed)
    kafka = KafkaSessions()
    feed = feed_of_sessions(GRACE)
    newest = 0
    for _ in range(60):
        time = max(0, newest + random.choice((-3, -2, -1, 0, 0, 1, 2, 4, 6, 9)))
        newest = max(newest, time)
        is_other_key = random.random() < 0.3
        closed, is_dropped = kafka.add_record(time, is_other_key=is_other_key)
        record = at(time, value=0, key="other") if is_other_key else at(time, value=1, key="k")
        result = feed.batch(record)
        changes_of_k = [change for change in result.changes if not change.endswith(" 0")]
        assert changes_of_k == list(map(as_change, closed)), f"after {time}, newest {newest}"
        assert not is_dropped
        assert result.reasons == []


def test_kafka_closes_a_session_after_its_gap_and_the_grace() -> None:
    """
    10  12        17   20 21
    *---*---------)            the session, whose gap ends at 17, and the grace at 20
    """
    kafka = KafkaSessions()
    assert kafka.add_record(10) == ([], False)
    assert kafka.add_record(12) == ([], False)
    assert kafka.add_record(20, is_other_key=True) == ([], False)
    assert kafka.add_record(21, is_other_key=True) == ([Session(10, 12, 2)], False)


@pytest.mark.parametrize(
    ("delay", "closes_at"),
    [(GRACE, 21), (GRACE + GAP, 26)],
    ids=["the grace as delay, as Kafka does", "the grace and the gap as delay, a gap later"],
)
def test_a_session_is_closed_after_its_gap_and_the_delay(delay: int, closes_at: int) -> None:
    feed = feed_of_sessions(delay)
    feed.batch(at(10), at(12))
    assert feed.batch(at(closes_at - 1, value=1, key="other")).changes == []
    assert feed.batch(at(closes_at, value=1, key="other")).changes == ["+[10,17) 2"]


@pytest.mark.parametrize("late_time", [12, 13, 16])
def test_a_record_that_kafka_takes_behind_the_grace_is_late_unless_the_query_corrects(late_time: int) -> None:
    """The stream time is 20: Kafka drops records before 12, which is behind by more than the gap and the grace."""
    closing_time = late_time + GAP + GRACE + 1
    kafka = KafkaSessions(stream_time=20)
    assert kafka.add_record(late_time) == ([], False)
    closed, _ = kafka.add_record(closing_time, is_other_key=True)
    assert closed == [Session(late_time, late_time, 1)]

    without_correction = feed_of_sessions(GRACE)
    without_correction.batch(at(20, value=1, key="other"))
    assert without_correction.batch(at(late_time)).reasons == ["late"]

    correcting = feed_of_sessions(GRACE, correct(GAP))
    correcting.batch(at(20, value=1, key="other"))
    result = correcting.batch(at(late_time))
    assert result.reasons == []
    changes = [*result.changes, *correcting.batch(at(closing_time, value=1, key="other")).changes]
    assert changes == [as_change(Session(late_time, late_time, 1))]


def test_a_record_behind_the_gap_and_the_grace_is_dropped_by_both() -> None:
    """The stream time is 20, so that is a record before 12."""
    kafka = KafkaSessions(stream_time=20)
    assert kafka.add_record(11) == ([], True)
    correcting = feed_of_sessions(GRACE, correct(GAP))
    correcting.batch(at(20, value=1, key="other"))
    assert correcting.batch(at(11)).reasons == ["late"]
