"""Newer versions of a module go on with the states of older ones, whenever those are read."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, Module, Window, tumbling
from muntin.errors import ModuleFailedError
from muntin_engine.errors import Difference, StateMismatchError
from tests.modules.schema_versions import Broken, Compatible, First, Second, Third, Without
from tests.scenarios.feed import Feed, Total, at, query

# The payloads 1 and 2 come into the window [0, 10), whose state then is one of version 1.0, with the sum 3. Another
# version takes that state over, and mostly gets a 4. With the general evaluator 1 and 2 come in two batches and results
# are eager: so a window has a state from its second batch on.

EVALUATORS = pytest.mark.parametrize("evaluator", ["general", "sliced"])


def upgraded(feed: Feed | None, evaluator: str, *modules: Module) -> Feed:
    """Continue from the state of a feed with other modules, in a new process; without a feed, begin a stream."""
    emit = EmitPolicy.EAGER if evaluator == "general" else EmitPolicy.FINAL
    upgraded_query = query(tumbling(10), *modules, emit=emit, lifetimes="points")
    return Feed(upgraded_query, evaluator, None if feed is None else feed.cells)


def started(evaluator: str, *keys: str, module: Module | None = None) -> Feed:
    """Return a query whose open window has a state of 1 and 2 for each key, by version 1.0 or another module."""
    feed = upgraded(None, evaluator, module or First())
    first_rows = [at(1, value=1, key=key) for key in keys]
    second_rows = [at(2, value=2, key=key) for key in keys]
    if evaluator == "general":
        feed.batch(*first_rows)
        feed.batch(*second_rows)
    else:
        feed.batch(*first_rows, *second_rows)
    return feed


@EVALUATORS
def test_a_state_is_upgraded_once_in_a_process(evaluator: str) -> None:
    feed = started(evaluator, "k")
    module = Second()
    module_of_next_process = Second()
    result = upgraded(feed, evaluator, module).batch(at(4, value=4))
    if evaluator == "general":
        assert result.changes == ["-[0,10) 3", "+[0,10) 7"]
    result = upgraded(feed, evaluator, module_of_next_process).batch(at(8, value=8), watermark=INFINITY)
    assert result.rows[-1]["result"] == 3 + 4 + 8
    assert module.upgraded == [([3], "1.0")]
    # The general evaluator has written the window anew by then; a log over slices has its first entry still.
    assert len(module_of_next_process.upgraded) == (0 if evaluator == "general" else 1)


@EVALUATORS
def test_a_key_that_nothing_touches_keeps_its_state_through_two_upgrades(evaluator: str) -> None:
    feed = started(evaluator, "touched", "left alone")
    cells_before = dict(feed.cells.cells)
    upgraded(feed, evaluator, Second()).batch(at(4, value=4, key="touched"), at(4, value=0, key="touched"))
    written_cells = [name for name, data in feed.cells.cells.items() if cells_before.get(name) != data]
    assert len(written_cells) == 2, "a new entry and the metadata: nothing else is written anew"

    third = Third()
    result = upgraded(feed, evaluator, third).batch(
        at(6, value=6, key="left alone"), at(5, value=5, key="touched"), watermark=INFINITY
    )
    assert sorted(row["result"] for row in result.rows)[-2:] == [3 + 6, 3 + 4 + 0 + 5]
    assert {version for _, version in third.upgraded} == {"1.0", "2.0"}


@EVALUATORS
def test_an_upgrade_that_fails_names_module_key_and_window_and_leaves_the_state(evaluator: str) -> None:
    feed = started(evaluator, "k")
    cells_before = dict(feed.cells.cells)
    message = r"test.total 3.0 failed in upgrade_state: .*version 1.0 is unknown"
    with pytest.raises(ModuleFailedError, match=message) as caught:
        upgraded(feed, evaluator, Broken()).batch(at(4, value=4))
    assert caught.value.key == ("k",)
    assert caught.value.window == Window(0, 10)
    assert feed.cells.cells == cells_before
    result = upgraded(feed, evaluator, First()).batch(at(4, value=4), watermark=INFINITY)
    assert result.rows[-1]["result"] == 7


@EVALUATORS
def test_a_version_whose_results_mean_the_same_reads_states_as_they_are(evaluator: str) -> None:
    result = upgraded(started(evaluator, "k"), evaluator, Compatible()).batch(at(4, value=4), watermark=INFINITY)
    assert result.rows[-1]["result"] == 7


@EVALUATORS
def test_a_newer_version_that_does_not_continue_is_refused_with_what_to_do(evaluator: str) -> None:
    with pytest.raises(StateMismatchError) as caught:
        upgraded(started(evaluator, "k"), evaluator, Without()).batch()
    assert caught.value.differences == (Difference("module", "test.total 1.0 of x", "test.total 1.1 of x"),)
    assert caught.value.remedies == (
        "test.total 1.1 does not continue from 1.0: let it define upgrade_state, or say continues_since = '1.0' if "
        "results mean the same",
    )


@EVALUATORS
def test_an_older_version_is_refused(evaluator: str) -> None:
    with pytest.raises(StateMismatchError, match=r"test.total 1.0 is older than 2.0, .*: run 2.0 or a newer one"):
        upgraded(started(evaluator, "k", module=Second()), evaluator, First()).batch()


def test_a_module_that_keeps_no_state_may_continue_too() -> None:
    continuing = type("Total", (Total,), {"version": "1.5", "continues_since": "1.0.0"})()
    not_continuing = type("Total", (Total,), {"version": "1.6"})()
    feed = started("general", "k", module=Total())
    assert upgraded(feed, "general", continuing).batch(at(4, value=4)).changes == ["-[0,10) 3", "+[0,10) 7"]
    with pytest.raises(StateMismatchError):
        upgraded(feed, "general", not_continuing).batch()


def test_versions_that_are_hashes_have_no_order_and_go_on_only_where_states_are_upgraded() -> None:
    def with_version(base: type[Module], version: str) -> Any:
        return type(base.__name__, (base,), {"version": version})()

    feed = started("general", "k", module=with_version(First, "code 7f"))
    with pytest.raises(StateMismatchError, match=r"does not continue from code 7f"):
        upgraded(feed, "general", with_version(First, "code 11")).batch()

    upgrading = with_version(Second, "code 11")
    upgrading.upgrade_state = lambda state, version: Second.upgrade_state(upgrading, state, "1.0")
    assert upgraded(feed, "general", upgrading).batch(at(4, value=4)).changes == ["-[0,10) 3", "+[0,10) 7"]


@EVALUATORS
def test_of_several_modules_each_is_upgraded_by_itself(evaluator: str) -> None:
    second_from_the_start = Second()
    second_after_first = Second()
    feed = upgraded(None, evaluator, second_from_the_start, First())
    for value in (1, 2):
        feed.batch(at(value, value=value), at(value, value=0))
    second_from_the_start.upgraded.clear()

    upgraded_feed = upgraded(feed, evaluator, second_from_the_start, second_after_first)
    *_, row = upgraded_feed.batch(at(4, value=4), watermark=INFINITY).rows
    assert row["result"] == 1 + 2 + 4
    assert row["m1"] == 1 + 2 + 4
    assert second_from_the_start.upgraded == []
    assert {version for _, version in second_after_first.upgraded} == {"1.0"}
