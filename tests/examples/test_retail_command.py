"""The command lists, describes and checks the kinds of windows of a plugin, `examples/retail`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muntin import Aggregate, window
from muntin.catalog import Catalog, installed
from muntin.rows import batch, between, last
from muntin.testing import Outcome, RowWindowLaws, WindowKindLaws, laws_of, try_laws
from muntin_cli.checking.subjects import subjects_in
from muntin_cli.checking.travelling import check_pickling
from muntin_cli.description import describe
from muntin_cli.errors import UsageError
from muntin_cli.evaluation import evaluations_of
from muntin_cli.listing import list_modules
from muntin_cli.offered import count_offers
from muntin_cli.running import parse_window
from muntin_cli.windows import own_windows

LAWS = list(laws_of(WindowKindLaws))


class Above(Aggregate[float, int]):
    """Count what is above zero."""

    name, version = "demo.above", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> int:
        return sum(payload > 0 for payload in payloads)


@pytest.fixture
def catalog(retail: None) -> Catalog:
    """What is installed, as far as this plugin goes."""
    return Catalog(installed().entries, ("retail",))


def test_kinds_are_listed_with_their_versions(catalog: Catalog) -> None:
    offers = {offer.name: offer for offer in list_modules(catalog).offers}
    assert list(offers) == ["retail.baskets", "retail.between_starts", "retail.shifts", "retail.visits"]
    assert (offers["retail.visits"].version, offers["retail.visits"].shape) == ("1.2", "window kind")
    assert (offers["retail.baskets"].version, offers["retail.baskets"].shape) == ("1.0", "row windows")
    (plugin,) = catalog.plugins()[0]
    assert count_offers(plugin) == "4 window kinds"


def test_a_kind_is_described_with_its_parameters_and_laws(catalog: Catalog) -> None:
    description = describe(catalog, "retail.visits")
    assert [str(parameter) for parameter in description.parameters] == ["gap: int"]
    assert len(description.laws) == len(LAWS)
    assert description.documentation.startswith("A window over events of which each begins")


def test_row_windows_are_described_with_their_laws_and_drawn(catalog: Catalog) -> None:
    description = describe(catalog, "retail.baskets", {"evicts": 2})
    assert len(description.laws) == len(laws_of(RowWindowLaws))
    assert description.drawing.count("window") == 3


def test_a_kind_is_drawn_over_three_events(catalog: Catalog) -> None:
    # visits with a gap of two ticks
    #
    # 0         10
    #  [----)          a
    #     [----)       b
    #             [-)  c
    #  [--------) [--)  windows, each up to a tick after its last event
    lines = describe(catalog, "retail.visits").drawing.splitlines()
    assert lines[-2:] == ["window   [--------)        2", "window              [--)   1"]


def test_a_kind_is_drawn_with_the_parameters_that_are_given(catalog: Catalog) -> None:
    drawing = describe(catalog, "retail.shifts", {"day": 10, "night": 5}).drawing
    assert drawing.count("window") == 2


def test_a_kind_is_in_the_table_of_evaluators_beside_our_own(catalog: Catalog) -> None:
    evaluations = list(evaluations_of(Above(), {}, catalog))

    kinds = {evaluation.window for evaluation in evaluations}
    assert kinds == {*own_windows(), "retail.between_starts", "retail.shifts", "retail.visits"}
    evaluators = {(row.window, row.events, row.evaluator) for row in evaluations}
    assert ("retail.visits", "any", "general") in evaluators
    assert ("retail.shifts", "any", "general") in evaluators


def test_a_kind_goes_by_its_name_in_the_shell_too(catalog: Catalog) -> None:
    assert parse_window("retail.visits 5") == window("retail.visits", gap=5)
    assert parse_window("retail.shifts 10minutes 300") == window("retail.shifts", day=600_000_000, night=300)
    assert parse_window("retail.baskets 3 partitions=till") == window("retail.baskets", evicts=3, partitions="till")
    assert parse_window("last 10 2") == last(10).trigger(2)
    assert parse_window("batch 10minutes") == batch("10 minutes")
    assert parse_window("between closes=is_last") == between(closes="is_last")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("retail.visits", "missing a required argument"),
        ("retail.visits 5 6", "too many positional arguments"),
        ("retail.visit 5", "no window kind is named 'retail.visit'"),
    ],
)
def test_windows_that_are_written_wrongly_in_the_shell_are_refused(catalog: Catalog, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_window(text)


def test_kinds_are_made_with_parameters_to_be_checked_and_travel(catalog: Catalog) -> None:
    subjects = subjects_in(catalog.plugins()[0], {})
    assert [subject.label for subject in subjects.made] == [
        "retail.baskets 1.0 with evicts=2",
        "retail.between_starts 1.0",
        "retail.shifts 1.0 with day=2, night=2",
        "retail.visits 1.2 with gap=2",
    ]
    section, pickled = check_pickling(subjects)
    assert len(pickled) == 4, section


def test_a_kind_of_windows_and_row_windows_keep_all_their_laws(catalog: Catalog) -> None:
    visits = window("retail.visits", gap=2)
    baskets = window("retail.baskets", evicts=2, partitions="p")
    for windows, laws in ((visits, LAWS), (baskets, laws_of(RowWindowLaws))):
        verdicts = list(try_laws(windows))
        assert [verdict.outcome for verdict in verdicts] == [Outcome.KEPT] * len(laws)
