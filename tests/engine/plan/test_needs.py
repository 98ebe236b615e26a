"""What a module needs of a query: windows that are not enough are refused, with the call that works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import pytest

from muntin import (
    Aggregate,
    Axis,
    ClipPolicy,
    Event,
    Module,
    Needs,
    Operator,
    TimestampPolicy,
    Window,
    count_by_start,
    hopping,
    snapshot,
    tumbling,
)
from muntin.errors import PolicyError
from muntin.query_checks import clip_of, timestamps_of
from muntin.testing import Computation, LawError, OperatorLaws, Script, WindowedQuery
from muntin.windows import CountWindows, HoppingWindows, WindowKind
from muntin_adapters.combinators import all_of, preset, with_default
from muntin_engine.plan import plan_module
from muntin_patterns import ConsecutiveRise, FollowedBy, HeadAndShoulders, Step, ThresholdCrossing
from muntin_stats import Count, TimeWeightedAverage
from tests.engine.plan.plans import plan_of, planned

ENOUGH = [
    tumbling(20, reach=11),
    tumbling(20, reach=50),
    hopping(30, 10),  # some window holds 20 ticks before each moment
    hopping(20, 10, reach=1),
    hopping(10, 30, reach=11),
]
TOO_LITTLE: list[tuple[WindowKind, str]] = [
    (tumbling(20), "write: tumbling(20, reach=11)"),
    (tumbling(20, 5), "write: tumbling(20, offset=5, reach=11)"),
    (tumbling(20, reach=10), "write: tumbling(20, reach=11)"),
    (hopping(20, 10), "write: hopping(20, 10, reach=11)"),
    (hopping(10, 30, reach=10), "write: hopping(10, 30, reach=11)"),
    (snapshot(), "write, for example: tumbling(11, reach=11)"),
    (count_by_start(3), "write, for example: tumbling(11, reach=11)"),
]


class Weighs(Aggregate[int, int]):
    """A module that is made for one clip, and accepts all."""

    name, version = "needs.weighs", "1.0.0"
    is_time_sensitive = True
    needs: ClassVar[Needs] = Needs(clip=ClipPolicy.RIGHT)

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> int:
        return len(events)


def windows_with_pair(window: WindowKind, start: int) -> int:
    """Return the number of windows in which a pair is found whose second event starts 10 after the end of the first."""
    first_event = Script().insert("a", start=start, end=start + 1, payload=Step("a"))
    script = first_event.insert("b", start=start + 11, end=start + 12, payload=Step("b")).close()
    module: FollowedBy[str] = FollowedBy(within=10)
    query = WindowedQuery(window, [Computation(module)], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    return len(script.run(query).get(None, []))


@pytest.mark.parametrize("window", ENOUGH, ids=str)
def test_windows_that_are_enough_find_a_pair_wherever_it_lies(window: HoppingWindows) -> None:
    for start in range(60):
        second_is_in_gap = (start + 11) % window.hop >= window.size  # it is in no window
        if not second_is_in_gap:
            assert windows_with_pair(window, start) >= 1


@pytest.mark.parametrize(("window", "advice"), TOO_LITTLE, ids=str)
def test_the_plan_refuses_windows_that_are_not_enough_and_accepts_those_that_it_advises(
    window: WindowKind, advice: str
) -> None:
    module = planned(FollowedBy, "", within=10)
    with pytest.raises(PolicyError, match=r"^patterns\.followed_by 0\.1\.0 ") as refused:
        plan_of(module, window=window, axis=Axis.TICKS)
    assert str(refused.value).endswith(advice)

    advised_window = eval(advice.rpartition(": ")[2])
    assert plan_of(module, window=advised_window, axis=Axis.TICKS).window == advised_window


@pytest.mark.parametrize(("window", "advice"), TOO_LITTLE, ids=str)
def test_the_reference_refuses_windows_that_are_not_enough_with_the_same_advice(
    window: WindowKind, advice: str
) -> None:
    module: FollowedBy[str] = FollowedBy(within=10)
    with pytest.raises(PolicyError, match=r"^patterns\.followed_by 0\.1\.0 ") as refused:
        WindowedQuery(window, [Computation(module)])
    assert str(refused.value).endswith(advice)


def test_a_refusal_on_an_axis_of_time_has_lengths_of_time() -> None:
    with pytest.raises(PolicyError) as refused:
        plan_of(planned(FollowedBy, "", within="10 minutes"), window=tumbling("1 hour"))
    assert str(refused.value) == (
        "patterns.followed_by 0.1.0 needs events to stay members for 10 minutes 1 microsecond after their end, "
        "and tumbling('1 hour') keeps them for 0 seconds\n"
        "  what lies further apart would not be found, and nothing would say so\n"
        "  write: tumbling('1 hour', reach='10 minutes 1 second')"
    )
    enough = tumbling("1 hour", reach="10 minutes 1 second")
    assert plan_of(planned(FollowedBy, "", within="10 minutes"), window=enough).window == enough


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [(ConsecutiveRise, {"n": 2}), (HeadAndShoulders, {}), (ThresholdCrossing, {"threshold": 1})],
)
def test_patterns_of_samples_say_that_they_find_nothing_in_snapshots(cls: type[Module], parameters: Any) -> None:
    needs = cls(**parameters).needs
    assert needs.lacks(snapshot()).startswith("finds nothing in snapshot(): it needs hopping or tumbling windows or")
    assert needs.lacks(tumbling(5)) == ""
    assert needs.lacks(count_by_start(2)) == ""


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [(ConsecutiveRise, {"n": 2}), (HeadAndShoulders, {}), (ThresholdCrossing, {"threshold": 1})],
)
def test_patterns_of_samples_ask_for_a_clip_and_for_timestamps(cls: type[Module], parameters: Any) -> None:
    module = cls(**parameters)
    assert clip_of([module]) is ClipPolicy.RIGHT
    assert timestamps_of([module]) is TimestampPolicy.UNCHANGED


def test_a_module_without_needs_asks_for_no_policies() -> None:
    assert clip_of([Count()]) is None
    assert timestamps_of([Count()]) is None


def test_a_module_that_accepts_only_one_clip_asks_for_it() -> None:
    assert clip_of([Count(), TimeWeightedAverage()]) is ClipPolicy.FULL


def test_modules_that_ask_for_different_clips_are_refused_with_those_that_a_query_may_choose() -> None:
    class AlsoWeighs(Weighs):
        name = "needs.also_weighs"
        needs = Needs(clip=ClipPolicy.LEFT)

    with pytest.raises(PolicyError) as refused:
        clip_of([Weighs(), AlsoWeighs()])
    assert str(refused.value) == (
        "the modules are made for different clip: needs.weighs for 'right', needs.also_weighs for 'left'\n"
        "  say which: clip='none' or clip='left' or clip='right' or clip='full'"
    )


def test_a_query_may_choose_only_a_clip_that_all_modules_accept() -> None:
    with pytest.raises(PolicyError, match="say which: clip='full'"):
        clip_of([Weighs(), TimeWeightedAverage()])


def test_combinators_need_what_the_modules_in_them_need() -> None:
    within_10 = preset(FollowedBy, within=10)()
    assert within_10.needs == FollowedBy(10).needs
    count_and_average = all_of(n="stats.count", average="stats.time_weighted_average")()
    assert count_and_average.needs.reach == 0
    assert clip_of([count_and_average]) is ClipPolicy.FULL
    assert with_default(Weighs, 0)().needs == Weighs.needs


def test_needs_are_joined_to_the_windows_of_both_the_longer_reach_and_the_clip_on_which_they_agree() -> None:
    narrow = Needs((HoppingWindows, CountWindows), 5)
    wide = Needs((HoppingWindows,), 3, ClipPolicy.LEFT)
    assert narrow.together_with(wide) == Needs((HoppingWindows,), 5, ClipPolicy.LEFT)
    assert wide.together_with(Weighs.needs).clip is None
    nowhere = wide.together_with(Needs((CountWindows,)))
    assert str(nowhere).startswith("windows of no kind")
    assert nowhere.lacks(tumbling(10)).startswith("needs windows of no kind, so no query can have it")


def test_the_laws_refuse_needs_that_contradict_the_module() -> None:
    class Contradicts(Operator[int, int]):
        name, version = "needs.contradicts", "1.0.0"
        is_time_sensitive = True
        accepted_clips = frozenset({ClipPolicy.FULL})
        needs: ClassVar[Needs] = Needs(clip=ClipPolicy.LEFT)

        def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[int]:
            return []

    suite = type("TestContradicts", (OperatorLaws,), {"module": Contradicts()})
    with pytest.raises(LawError, match="made for clip='left', which is not among its accepted_clips"):
        suite().test_definition_is_complete()


def test_the_plan_advises_the_reach_that_follows_from_a_modules_parameter() -> None:
    fields = planned(FollowedBy, "", within=1).bound_reads
    module = plan_module("", FollowedBy, {"within": 30}, fields, lambda place, _: place)
    with pytest.raises(PolicyError, match=r"write: tumbling\(20, reach=31\)"):
        plan_of(module, window=tumbling(20, reach=11), axis=Axis.TICKS)
