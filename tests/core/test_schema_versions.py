"""Newer versions of a module go on with the states of older ones, whenever those are read."""

from __future__ import annotations

import re
from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, Module, tumbling
from muntin.errors import ModuleFailedError
from muntin_engine.errors import Difference, StateMismatchError
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.log import MOST_ALIKE
from tests.core.build import Feed, Members, output, query, row
from tests.core.schema_versions import Broken, Compatible, First, Second, Sum, Third, Without, identity_of
from tests.core.sliced import build as slices

# Windows of 10 ticks, put out at once; a state is kept of a window from its second batch on.
#
#          0         10
# batch 1  1  |
# batch 2   2 |                     the window has a state of version 1.0
# batch 3    4|                     which another version takes over


def started(*keys: str, module: Module | None = None) -> Feed:
    """A query whose open window has a state of each key."""
    feed = upgraded(None, module or First())
    for value in (1, 2):
        feed.batches([((key,), [row(value, value, value + 1, value)]) for key in keys])
    return feed


def upgraded(feed: Feed | None, *modules: Module) -> Feed:
    """The same state under a query of other modules."""
    following = Feed(query(tumbling(10), modules[0], emit=EmitPolicy.EAGER), Codec([Sum]))
    following.identity = dict(identity_of(*modules))
    if feed is not None:
        following.cells = feed.cells
    return following


def changes(result: Any) -> list[tuple[str, Any]]:
    return [(str(change.kind), change.value[0]) for change in output(result)]


def test_a_state_is_upgraded_and_what_it_put_out_is_retracted() -> None:
    feed, module = started("k"), Second()
    result = upgraded(feed, module).batch(row(4, 4, 5, 4))
    assert changes(result) == [("retract", 3), ("insert", 7)]
    assert module.upgraded == [([3], "1.0")]


def test_it_is_upgraded_once() -> None:
    feed = started("k")
    upgraded(feed, Second()).batch(row(4, 4, 5, 4))
    again = Second()
    assert changes(upgraded(feed, again).batch(row(8, 8, 9, 8))) == [("retract", 7), ("insert", 15)]
    assert again.upgraded == []


def test_a_key_that_nothing_touches_keeps_its_state_through_two_upgrades() -> None:
    feed = started("touched", "left alone")
    upgraded(feed, Second()).batch(row(4, 4, 5, 4), key="touched")
    last = Third()
    result = upgraded(feed, last).batches([(("touched",), [row(5, 5, 6, 5)]), (("left alone",), [row(6, 6, 7, 6)])])
    assert sorted(changes(result)) == [("insert", 9), ("insert", 12), ("retract", 3), ("retract", 7)]
    assert sorted(last.upgraded, key=str) == [([3], "1.0"), ({"total": 7}, "2.0")]


def test_nothing_is_rewritten_that_a_batch_does_not_touch() -> None:
    feed = started(*map(str, range(30)))
    before = dict(feed.cells.cells)
    upgraded(feed, Second()).batch(row(4, 4, 5, 4), key="0")
    differing = [name for name, data in feed.cells.cells.items() if before.get(name) != data]
    assert sorted(differing) == ["entry 3", "metadata"]


def test_an_upgrade_that_fails_names_the_module_and_leaves_the_state() -> None:
    feed = started("k")
    before = dict(feed.cells.cells)
    with pytest.raises(ModuleFailedError, match=r"test.total 3.0 failed in upgrade_state: .*version 1.0 is unknown"):
        upgraded(feed, Broken()).batch(row(4, 4, 5, 4))
    assert feed.cells.cells == before
    assert changes(upgraded(feed, First()).batch(row(4, 4, 5, 4))) == [("retract", 3), ("insert", 7)]


def test_a_version_that_says_nothing_of_older_ones_is_refused() -> None:
    feed = started("k")
    with pytest.raises(StateMismatchError) as caught:
        upgraded(feed, Without()).batch()
    assert caught.value.differences == (Difference("module", "test.total 1.0 of input 0", "test.total 1.1 of input 0"),)
    assert caught.value.remedies == (
        "test.total 1.1 does not continue from 1.0: let it define upgrade_state, or say continues_since = '1.0' if "
        "results mean the same",
    )


def test_so_is_an_older_version() -> None:
    feed = started("k", module=Second())
    with pytest.raises(StateMismatchError, match=r"test.total 1.0 is older than 2.0, .*: run 2.0 or a newer one"):
        upgraded(feed, First()).batch()


def test_a_version_whose_results_mean_the_same_reads_states_as_they_are() -> None:
    assert changes(upgraded(started("k"), Compatible()).batch(row(4, 4, 5, 4))) == [("retract", 3), ("insert", 7)]


def test_so_does_one_of_a_module_that_keeps_no_state() -> None:
    newer = type("Members", (Members,), {"version": "1.5", "continues_since": "1.0.0"})()
    feed = started("k", module=Members())
    assert changes(upgraded(feed, newer).batch(row(4, 4, 5, 4))) == [("retract", (1, 2)), ("insert", (1, 2, 4))]
    silent = type("Members", (Members,), {"version": "1.6"})()
    with pytest.raises(StateMismatchError):
        upgraded(feed, silent).batch()


def test_hashes_have_no_order_and_go_on_only_where_states_are_upgraded() -> None:
    def hashed(base: type[Module], version: str) -> Module:
        made: Module = type(base.__name__, (base,), {"version": version})()
        return made

    feed = started("k", module=hashed(First, "code 7f"))
    with pytest.raises(StateMismatchError, match=r"does not continue from code 7f"):
        upgraded(feed, hashed(First, "code 11")).batch()
    upgrading: Any = hashed(Second, "code 11")
    upgrading.upgrade_state = lambda state, version: Sum(state[0] if version == "code 7f" else state["total"])
    assert changes(upgraded(feed, upgrading).batch(row(4, 4, 5, 4))) == [("retract", 3), ("insert", 7)]


def test_of_several_modules_each_is_upgraded_by_itself() -> None:
    def two(feed: Feed | None, *modules: Module) -> Feed:
        following = upgraded(feed, *modules)
        (binding,) = following.query.bindings
        bindings = tuple(type(binding)(module, binding.select) for module in modules)
        following.query = type(following.query)(tumbling(10), bindings, emit=EmitPolicy.EAGER)
        return following

    same, newer = Second(), Second()
    feed = two(None, same, First())
    for value in (1, 2):
        feed.batch(row(value, value, value + 1, value))
    result = two(feed, same, newer).batch(row(4, 4, 5, 4))
    assert [change.value for change in output(result)] == [(3, 3), (7, 7)]
    assert (same.upgraded, newer.upgraded) == ([], [([3], "1.0")])


def test_a_fault_of_the_engine_is_found_where_the_parameters_differ_as_well() -> None:
    feed = started("k")
    other = upgraded(feed, Second())
    other.identity = {"modules": [["test.total", "2.0", {"scale": "2"}, [0]]]}
    with pytest.raises(StateMismatchError, match=r"the query has test.total 2.0 of input 0 with scale=2"):
        other.batch()


# Over slices


def pair(value: int, at: int = 1) -> list[slices.Row]:
    """Two rows, which travel as a state; one alone would travel as a row."""
    return [slices.Row(("k",), at, value), slices.Row(("k",), at, value)]


def sliced(feed: slices.Feed | None, module: Module) -> slices.Feed:
    """A query over slices of a module, with the state of another one."""
    following = slices.Feed(slices.sliced(tumbling(10), module), None if feed is None else feed.cells)
    following.compatibility = Compatibility(identity_of(module), [module])
    return following


def test_slices_are_upgraded_when_they_are_read_back() -> None:
    feed = sliced(None, First())
    feed.batch([slices.Row(("k",), 1, 1), slices.Row(("k",), 2, 2)])
    module = Second()
    following = sliced(feed, module)
    following.batch([slices.Row(("k",), 3, 4)])
    following.batch([slices.Row(("k",), 4, 8)], INFINITY)
    assert [answer.values for answer in following.output] == [(15,)]
    assert module.upgraded == [([3], "1.0")]


def test_slices_that_two_upgrades_left_alone_are_read_by_the_third_version() -> None:
    feed = sliced(None, First())
    feed.batch(pair(1))
    entries = set(feed.entries)
    middle = sliced(feed, Second())
    middle.batch(pair(2))
    assert entries < set(middle.entries), "no entry is rewritten"
    last = Third()
    following = sliced(middle, last)
    following.batch([], INFINITY)
    assert [answer.values for answer in following.output] == [(6,)]
    assert last.upgraded == [([2], "1.0"), ({"total": 4}, "2.0")]


def test_entries_that_are_merged_become_those_of_the_present_version() -> None:
    feed = sliced(None, First())
    for value in range(MOST_ALIKE):
        feed.batch([slices.Row(("k",), 1, value)])
    middle = sliced(feed, Second())
    middle.batch([slices.Row(("k",), 1, 100)])
    assert len(middle.entries) == 1
    last = Third()
    following = sliced(middle, last)
    following.batch([], INFINITY)
    assert [answer.values for answer in following.output] == [(100 + sum(range(MOST_ALIKE)),)]
    assert last.upgraded == [({"total": 100 + sum(range(MOST_ALIKE))}, "2.0")]


def test_a_failure_over_slices_names_key_and_slice() -> None:
    feed = sliced(None, First())
    feed.batch(pair(1, at=11))
    with pytest.raises(ModuleFailedError, match=re.escape("version 1.0 is unknown")) as caught:
        sliced(feed, Broken()).batch([slices.Row(("k",), 12, 1)])
    assert "('k',)" in str(caught.value)
    assert "start=10, end=20" in str(caught.value)


@pytest.mark.parametrize("module", [Without(), Second()])
def test_other_versions_are_refused_over_slices_too(module: Module) -> None:
    feed = sliced(None, Third())
    feed.batch([slices.Row(("k",), 1, 1)])
    with pytest.raises(StateMismatchError):
        sliced(feed, module).batch([])
