"""The functions that name the modules of `patterns`, as editors show them; written by `muntin stubs patterns`."""

from collections.abc import Sequence

from muntin import Duration
from muntin.modules.call import Column, ModuleCall

def consecutive_rise(column: Column, /, *, n: int) -> ModuleCall:
    """Report each run of at least `n` samples in a row that rise.

                            *
                     *   *     *
        samples    *           *  *
        rise       [--------)          from the start of the first to one tick after that of the last

    A sample rises over the sample before it if it starts later and is strictly greater. Samples that start together are
    in the order of the query's `events(order=...)`, or without one in that of their values. Runs are as long as they
    can be within the window: only samples that start in it count, so a run over its border is cut there; overlapping
    windows see both halves.

    Args:
        n: Least number of samples in a run, from 2 on.

    Types: float to rows of `length`, `low` and `high`.
    Nulls: no samples. Neither is NaN. They do not break a run.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. No run starts
        before its window; a later sample may lengthen an earlier run, so the output is not time-bound.

    Cost: sorting the members.

    Example:
        >>> samples = [Event.point(1, 2.0), Event.point(3, 5.0), Event.point(4, 7.5), Event.point(8, 1.0)]
        >>> ConsecutiveRise(3).compute_result(samples, Window(0, 10))
        [Event(start=1, end=5, payload=Rise(length=3, low=2.0, high=7.5))]
    """

def followed_by(
    label: Column,
    opens: Column = ...,
    closes: Column = ...,
    /,
    *,
    within: Duration,
) -> ModuleCall:
    """Report pairs of events: the second starts no earlier than the first ends, and no later than `within` after.

        first   [----)
        second           [---)         started - ended <= within
        match            !             a point event

    A match is reported in the window in which its second event starts. The first event must be a member of that window
    too: with `tumbling(size, reach=...)` and a reach above `within`, each pair is reported exactly once. A query with
    windows of another kind or of a shorter reach is refused, and a query without clip and timestamps gets `right` and
    `unchanged`. An event that has not ended is the first of no pair.

    Args:
        within: Longest time between the end of the first event and the start of the second; included.

    Types: a label, and optionally two booleans, `opens` and `closes`; rows have `first`, `second`, `ended`, `started`.

    Laws: starts before the window must be seen as they are, so left clipping is refused. A match starts where
    its second event does, so the output is time-bound.

    Cost: sorting the members, plus the matches.

    Example:
        >>> events = [Event(0, 3, Step("a")), Event(5, 9, Step("b")), Event(20, 21, Step("c"))]
        >>> FollowedBy(within=4).compute_result(events, Window(0, 30))
        [Event(start=5, end=6, payload=Match(first='a', second='b', ended=3, started=5))]
    """

def followed_without(
    label: Column,
    opens: Column = ...,
    closes: Column = ...,
    breaks: Column = ...,
    /,
    *,
    within: Duration,
) -> ModuleCall:
    """Report each event that is followed by another event within a time, without an event in between that breaks it.

        opens    a     a            a
        breaks                  x
        closes            b                b
        row               !!               !       both a with the first b, then the last a with the last b

    A first event is in one row: the row with the next event that closes. Each event that waits has a row with that
    event. An event that may do several things breaks first, then closes, then opens: so it never follows itself. The
    column `order` of the query orders events of the same time.

    Args:
        within: Longest time from the first event to the second; included.

    Types: a label, and optionally three booleans, `opens`, `closes` and `breaks`; rows of `first`, `second` and
    `began`. Rows are points at the time of the second event.

    Cost: the labels and times of waiting events, for `within` at most.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> a, b, x = Part("a", closes=False), Part("b", opens=False), Part("x", False, False, breaks=True)
        >>> events = [Event.point(1, a), Event.point(4, b), Event.point(6, a), Event.point(7, x), Event.point(8, b)]
        >>> rows = evaluate(WindowedQuery.unwindowed(FollowedWithout(within=10)), events)
        >>> [(row.start, row.value) for row in rows]
        [(4, Pair(first='a', second='b', began=1))]
    """

def head_and_shoulders(column: Column, /, *, tolerance: float = 0.03) -> ModuleCall:
    """Report three peaks in a row of which the middle one is the highest and the outer two are about as high.

                        head
                         *
             left                   right
              *        *   *          *
            *   *                   *   *
          *       *  *       *   *        *
                   *           *              neckline
              [-----------------------)       from the start of the left peak to one tick after that of the right

    Samples are in the order of their starts. Samples that start together are in the order of the query's
    `events(order=...)`, or without one in that of their values. Of neighbours with equal values only the first counts.
    A *peak* is a sample greater than both its neighbours; a *trough* is the least value between two peaks. Three peaks
    left, head, right with no peak between them are a formation if

    * head > left and head > right;
    * left and right differ by at most `tolerance` times their mean;
    * the two troughs differ by at most `tolerance` times their mean.

    Only samples that start in the window count, and the first and the last of them are no peaks.

    Args:
        tolerance: Difference up to which values are about as high, as a share of their mean. The paper's "within 1.5
            percent of their average" is 0.03.

    Types: float to rows of `left`, `head`, `right` and `neckline`.
    Nulls: no samples. Neither is NaN.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. No formation starts
        before its window; a later sample may complete an earlier formation, so the output is not time-bound.

    Cost: sorting the members, and one pass.

    Source: A. W. Lo, H. Mamaysky and J. Wang, Foundations of Technical Analysis, The Journal of Finance 55 (2000),
        definition 1. They smooth prices by kernel regression first; here the samples are taken as they are.

    Example:
        >>> prices = [Event.point(at, price) for at, price in enumerate([1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0])]
        >>> HeadAndShoulders().compute_result(prices, Window(0, 10))
        [Event(start=1, end=6, payload=Formation(left=5.0, head=8.0, right=5.0, neckline=3.0))]
    """

def silence(column: Column = ..., /, *, after: Duration) -> ModuleCall:
    """Report each time at which a key has had no event for `after`.

        events   *  *                 *
        silence         !                  !       `after` later than the event before

    A silence has one row: the next row needs another event. An event exactly `after` later comes too late, as the
    silence is reported at that time. A key without any event is unknown, so it is never silent.

    Args:
        after: Length of time without an event, above zero.

    Types: any columns, or none; rows of `since`. Rows are points at the time of the alert.

    Cost: a number per key, until its silence is reported; then the key is forgotten.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> events = [Event.point(1, None), Event.point(3, None), Event.point(20, None)]
        >>> [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(Silence(after=10)), events, 25)]
        [(13, Silent(since=3))]
    """

def state_machine(
    column: Column,
    /,
    *,
    start: str,
    transitions: Sequence[tuple[str, str, str]],
    timeouts: Sequence[tuple[str, Duration, str]] = ...,
) -> ModuleCall:
    """Report each change of state of a machine per key, which events and time-outs bring about.

        events   open           open      close
        door     --[ open       ..... ]-[ ajar ]--     a door that is open for too long is ajar

    An event for which the state has no transition changes nothing, and does not start its time-out anew. A transition
    from a state to itself is reported, and starts the time-out anew.

    Args:
        start: State in which each machine starts. There is no time-out before its first transition.
        transitions: Triples of a state, an event and the next state.
        timeouts: Triples of a state, a length of time above zero, and the state that follows if there is no transition
            until then. An event at the very time comes after the time-out.

    Types: the name of an event; rows of `source`, `target`, `cause` and `since`. Rows are points at the time of the
    change.
    Nulls: no events.

    Cost: a name and a number per key, until its machine is back in the state in which it started, with no time-out
    there.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> door = StateMachine("shut", [("shut", "open", "open"), ("open", "close", "shut")], [("open", 9, "shut")])
        >>> events = [Event.point(1, "open"), Event.point(4, "close"), Event.point(20, "open")]
        >>> rows = evaluate(WindowedQuery.unwindowed(door), events, 30)
        >>> [(row.start, row.value.source, row.value.cause) for row in rows]
        [(1, 'shut', 'open'), (4, 'open', 'close'), (20, 'shut', 'open'), (29, 'open', None)]
    """

def threshold_crossing(
    column: Column,
    /,
    *,
    threshold: float,
    direction: str = "both",
) -> ModuleCall:
    """Report each sample that lies on the other side of a threshold than the sample before it.

        threshold ----------------------*------      A sample is above if it is greater than the threshold, and not if
                     *        *                      it equals the threshold.
        crossing                        !            a point event

    Samples are in the order of their starts. Samples that start together are in the order of the query's
    `events(order=...)`, or without one in that of their values. A crossing is reported in the window in which its later
    sample starts. The earlier sample must be a member of that window too: with `tumbling(size, reach=...)` and a reach
    of at least the time between samples, no crossing is lost between windows.

    Args:
        threshold: Threshold, in the unit of the payload.
        direction: Direction of the crossings to report: "up", "down" or "both".

    Types: float to rows of `before`, `after` and `direction`.
    Nulls: no samples. Neither is NaN.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. A sample changes
        only rows that start no earlier than itself, so the output is time-bound.

    Cost: sorting the members.

    Example:
        >>> samples = [Event.point(1, 18.0), Event.point(4, 21.5), Event.point(6, 22.0)]
        >>> ThresholdCrossing(20).compute_result(samples, Window(0, 10))
        [Event(start=4, end=5, payload=Crossing(before=18.0, after=21.5, direction='up'))]
    """
