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
    """Is made for a clip, and right under all."""

    name, version = "needs.weighs", "1.0.0"
    is_time_sensitive = True
    needs: ClassVar[Needs] = Needs(clip=ClipPolicy.RIGHT)

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> int:
        return len(events)


def pairs_found(window: WindowKind, start: int) -> int:
    """Return in how many windows a pair is found whose second starts 10 after the end of the first."""
    script = Script().insert("a", start, start + 1, Step("a")).insert("b", start + 11, start + 12, Step("b")).close()
    module: FollowedBy[str] = FollowedBy(10)
    query = WindowedQuery(window, [Computation(module)], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    return len(script.run(query).get(None, []))


@pytest.mark.parametrize("window", ENOUGH, ids=str)
def test_windows_that_are_enough_find_a_pair_wherever_it_lies(window: HoppingWindows) -> None:
    # A pair whose second starts in a gap between windows is in none of them.
    pairs = [pairs_found(window, start) for start in range(60) if (start + 11) % window.hop < window.size]
    assert min(pairs) >= 1


@pytest.mark.parametrize(("window", "instead"), TOO_LITTLE, ids=str)
def test_windows_that_are_not_enough_are_refused_by_the_plan_and_by_the_reference(
    window: WindowKind, instead: str
) -> None:
    module: FollowedBy[str] = FollowedBy(10)
    for build in (
        lambda: WindowedQuery(window, [Computation(module)]),
        lambda: plan_of(planned(FollowedBy, "", within=10), window=window, axis=Axis.TICKS),
    ):
        with pytest.raises(PolicyError, match=r"^patterns\.followed_by 0\.1\.0 ") as refused:
            build()
        assert str(refused.value).endswith(instead)
    suggestion = eval(instead.rpartition(": ")[2])
    assert plan_of(planned(FollowedBy, "", within=10), window=suggestion, axis=Axis.TICKS).window == suggestion


def test_a_refusal_on_a_time_axis_is_in_the_units_of_a_query() -> None:
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
def test_patterns_of_samples_find_nothing_in_snapshots_and_say_so(cls: type[Module], parameters: Any) -> None:
    module: Any = cls(**parameters)
    assert module.needs.lacks(snapshot()).startswith(
        "finds nothing in snapshot(): it needs hopping or tumbling windows or"
    )
    assert not module.needs.lacks(tumbling(5)) + module.needs.lacks(count_by_start(2))
    assert (clip_of([module]), timestamps_of([module])) == (ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)


def test_a_module_that_says_nothing_leaves_the_policies_as_they_were() -> None:
    assert (clip_of([Count()]), timestamps_of([Count()])) == (None, None)


def test_a_module_that_accepts_no_other_clip_is_made_for_that_one() -> None:
    assert clip_of([Count(), TimeWeightedAverage()]) is ClipPolicy.FULL


def test_modules_that_are_made_for_different_policies_are_refused_with_what_to_say() -> None:
    class AlsoWeighs(Weighs):
        name = "needs.also_weighs"
        needs = Needs(clip=ClipPolicy.LEFT)

    with pytest.raises(PolicyError) as refused:
        clip_of([Weighs(), AlsoWeighs()])
    assert str(refused.value) == (
        "the modules are made for different clip: needs.weighs for 'right', needs.also_weighs for 'left'\n"
        "  say which: clip='none' or clip='left' or clip='right' or clip='full'"
    )
    with pytest.raises(PolicyError, match="say which: clip='full'"):
        clip_of([Weighs(), TimeWeightedAverage()])


def test_combinators_need_what_the_modules_in_them_need() -> None:
    within = preset(FollowedBy, within=10)
    assert within().needs == FollowedBy(10).needs
    composed = all_of(n="stats.count", average="stats.time_weighted_average")()
    assert (composed.needs.reach, clip_of([composed])) == (0, ClipPolicy.FULL)
    assert with_default(Weighs, 0)().needs == Weighs.needs
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


def test_a_plan_of_the_engine_takes_parameters_into_account() -> None:
    module = plan_module(
        "", FollowedBy, {"within": 30}, planned(FollowedBy, "", within=1).bound_reads, lambda place, _: place
    )
    with pytest.raises(PolicyError, match=r"write: tumbling\(20, reach=31\)"):
        plan_of(module, window=tumbling(20, reach=11), axis=Axis.TICKS)
