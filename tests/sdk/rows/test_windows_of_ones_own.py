"""Row windows of one's own: a checkpoint knows them by name and version, whether they are installed or not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from muntin import Axis, hopping, window
from muntin.errors import ModuleDefinitionError
from muntin.rows import LastRows, PartitionView, RowWindows, between, delta, elapsed, last
from muntin.testing import Script
from muntin.windows import HoppingWindows
from muntin.windows.specification import check_kind
from muntin_engine.backends.planning.code_in_use import code_in_use
from muntin_engine.errors import StateMismatchError
from tests.modules.rows import Listed
from tests.scenarios.query import Query
from tests.scenarios.running import Run
from tests.scenarios.stepping import NO_MISHAPS, steps


@dataclass(frozen=True, slots=True)
class Smallest(LastRows):
    """The last rows; the partition with the fewest rows is removed first."""

    name: ClassVar[str] = "shop.smallest"
    version: ClassVar[str] = "1.0"

    least: int = 1

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        return [min(partitions, key=lambda view: view.rows).partition]


@dataclass(frozen=True, slots=True)
class Newer(Smallest):
    """The next version, which says nothing of the state of the first one."""

    name: ClassVar[str] = "shop.smallest"
    version: ClassVar[str] = "1.1"


@dataclass(frozen=True, slots=True)
class Continuing(Newer):
    """The next version, which goes on from the state of the first one."""

    name: ClassVar[str] = "shop.smallest"
    version: ClassVar[str] = "1.1"
    continues_since: ClassVar[str] = "1.0"


def listing(windows: RowWindows) -> Query:
    """Return a query whose results are the lists of the rows in each window."""
    return Query(windows, (Listed(),), lifetimes="points", has_order=True)


def run_script(windows: RowWindows, script: Script, previous_run: Run | None = None) -> tuple[list[Any], Run]:
    """Run a script through the engine, from the state on that a previous run left behind.

    Returns the rows of each window that is computed, and the run.
    """
    query = listing(windows)
    run = Run(query, query.plan(), NO_MISHAPS)
    if previous_run is not None:
        run.cells = previous_run.cells
    *_, run = steps(query, script, run=run)
    return [row["result"] for row in run.output_changes], run


def test_another_version_goes_on_where_it_says_so_and_otherwise_says_what_does_not_fit() -> None:
    """The windows are of a class in this file, so no plugin knows them."""
    rows_1_and_2 = Script().point("first", 1, 1).point("second", 2, 2).punctuate(5)
    row_6 = Script().point("third", 6, 6).close()

    results, first_run = run_script(Smallest.named_by({"evicts": 2}), rows_1_and_2)
    assert results == [[1], [1, 2]]

    with pytest.raises(StateMismatchError, match=r"version 1\.0.*version 1\.1") as refused:
        run_script(Newer.named_by({"evicts": 2}), row_6, first_run)
    assert "shop.smallest 1.1 does not continue from 1.0" in str(refused.value)
    assert "continues_since = '1.0'" in str(refused.value)

    results, _ = run_script(Continuing.named_by({"evicts": 2}), row_6, first_run)
    assert results == [[2, 6]]


def test_windows_with_another_value_of_a_field_do_not_go_on_whatever_their_version_says() -> None:
    _, first_run = run_script(Smallest.named_by({"evicts": 2}), Script().point(1, 1, 1).punctuate(5))
    with pytest.raises(StateMismatchError, match="window"):
        run_script(Continuing.named_by({"evicts": 2, "least": 3}), Script().point(6, 6, 6).close(), first_run)


class Sly(LastRows):
    """Changes the last rows, under their name and version."""

    __slots__ = ()

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        return [partitions[-1].partition]


class Unversioned(Sly):
    """Has a name of its own, and the version of the last rows."""

    __slots__ = ()
    name = "shop.sly"


@pytest.mark.parametrize(
    ("cls", "message"),
    [(Sly, "Sly has the name 'last' of LastRows"), (Unversioned, "the version '1.0' of LastRows")],
)
def test_windows_that_change_what_their_class_inherits_need_a_name_and_version_of_their_own(
    cls: type[LastRows], message: str
) -> None:
    """Otherwise they would go on from the checkpoint of plain last rows."""
    with pytest.raises(ModuleDefinitionError, match=message) as refused:
        listing(cls(last(2).evicts)).plan()
    assert "set both: name = 'shop.visits', version = '1.0'" in str(refused.value)


def test_windows_on_the_axis_need_a_name_of_their_own_too() -> None:
    class Hops(HoppingWindows):
        __slots__ = ()

    with pytest.raises(ModuleDefinitionError, match="Hops has the name 'hopping' of HoppingWindows"):
        listing(Hops(10, 5)).plan()  # type: ignore[arg-type]


def test_a_plan_has_windows_with_a_name_and_version_of_their_own() -> None:
    assert listing(Smallest.named_by({"evicts": 2})).plan().window == Smallest(last(2).evicts)


def test_a_subclass_that_adds_a_field_has_to_be_a_dataclass_itself() -> None:
    """Otherwise what it declares would be no field: windows that differ in it would be equal, and stored alike."""

    class Weighted(LastRows):
        __slots__ = ()
        name: ClassVar[str] = "shop.weighted"
        version: ClassVar[str] = "1.0"
        weight: int = 3

    with pytest.raises(ModuleDefinitionError, match=r"shop\.weighted is not a frozen dataclass"):
        check_kind(Weighted)


def test_a_checkpoint_knows_name_version_and_code_of_the_windows() -> None:
    (old,) = code_in_use([Smallest.named_by({"evicts": 2})])
    (new,) = code_in_use([Newer.named_by({"evicts": 2})])
    assert (old.name, old.version) == ("shop.smallest", "1.0")
    assert new.version == "1.1"
    assert old.code
    assert old.code != new.code


def test_windows_are_plain_data_with_the_fields_that_their_class_adds() -> None:
    windows = Smallest.named_by({"evicts": 2, "triggers": "1 minute", "partitions": "till", "least": 3})
    assert windows.to_dict()["least"] == 3
    assert Smallest.from_dict(windows.to_dict()) == windows


def test_windows_of_ones_own_are_described_by_name_fields_and_version() -> None:
    windows = Smallest.named_by({"evicts": 2, "triggers": "1 minute", "partitions": "till", "least": 3})
    text = "window('shop.smallest', evicts=2, triggers='1 minute', least=3).with_marks().partition('till')"
    assert windows.with_marks().describe(Axis.TIME) == f"{text}, version 1.0"


def test_windows_of_rows_go_by_name_as_other_kinds_do() -> None:
    assert window("last", evicts=10) == last(10)
    assert window("last", evicts=delta("price", 2), triggers=elapsed(3)) == last(delta("price", 2)).trigger(elapsed(3))
    assert window("between", closes="is_last", within="1 hour") == between(closes="is_last", within="1 hour")
    assert window("hopping", size=10, hop=5) == hopping(10, 5)

    partitioned = last("5 minutes").trigger(2).partition("sensor")
    assert window("last", evicts="5 minutes", triggers=2, partitions="sensor") == partitioned
