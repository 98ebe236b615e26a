"""The command lists, describes, checks and writes stubs of a plugin's kinds of windows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from muntin import Catalog, installed, window
from muntin.testing import Outcome, try_laws
from muntin_cli.checking.subjects import subjects_in
from muntin_cli.checking.travelling import check_pickling
from muntin_cli.description import describe
from muntin_cli.listing import list_modules
from muntin_cli.offered import count_offers
from muntin_cli.stubs.package import make_stubs


@pytest.fixture
def catalog(_retail: None) -> Catalog:
    """What is installed, as far as this plugin goes."""
    return Catalog(installed().entries, ("retail",))


def test_kinds_are_listed_and_described(catalog: Catalog) -> None:
    offers = {offer.name: offer for offer in list_modules(catalog).offers}
    assert list(offers) == ["retail.between_starts", "retail.shifts", "retail.visits"]
    assert (offers["retail.visits"].version, offers["retail.visits"].shape) == ("1.2", "window kind")
    assert count_offers(catalog.plugins()[0][0]) == "3 window kinds"
    told = describe(catalog, "retail.visits")
    assert [str(parameter) for parameter in told.parameters] == ["gap: int"]
    assert len(told.laws) == 9
    assert told.documentation.startswith("A window over events of which each begins")


def test_kinds_are_checked_with_their_laws_and_travel(catalog: Catalog) -> None:
    subjects = subjects_in(catalog.plugins()[0], {})
    assert [subject.label for subject in subjects.found] == [
        "retail.between_starts 1.0",
        "retail.shifts 1.0 with day=2, night=2",
        "retail.visits 1.2 with gap=2",
    ]
    section, pickled = check_pickling(subjects)
    assert len(pickled) == 3, section
    verdicts = list(try_laws(window("retail.visits", gap=2)))
    assert [verdict.outcome for verdict in verdicts] == [Outcome.KEPT] * 9


def test_stubs_make_the_windows_that_the_name_makes(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = [text for name, text in make_stubs(catalog.plugins()[0]).files.items() if name == "retail.py"]
    (tmp_path / "retail_stubs.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import retail_stubs  # type: ignore[import-not-found]  # it was written just now

    assert retail_stubs.visits(gap="1 minute") == window("retail.visits", gap=60_000_000)
    assert "Makes visits." in retail_stubs.visits.__doc__
    del sys.modules["retail_stubs"]
