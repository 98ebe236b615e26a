"""The laws of refinements: honest ones keep them, and each law has a refinement that breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import ResultRefinement
from muntin.testing import LawError, Outcome, ResultRefinementLaws, laws_for, laws_of, try_laws
from tests.core.refinements import HONEST, HOSTILE
from tests.naming import spelled

LAWS = list(laws_of(ResultRefinementLaws))


@pytest.mark.parametrize("refinement", HONEST, ids=str)
def test_an_honest_refinement_keeps_all_laws(refinement: ResultRefinement) -> None:
    assert laws_for(refinement) is ResultRefinementLaws
    verdicts = list(try_laws(refinement))
    assert len(verdicts) == len(LAWS)
    assert {verdict.outcome for verdict in verdicts} == {Outcome.KEPT}


@pytest.mark.parametrize(
    ("law", "refinement"), [(law, one) for law, some in HOSTILE.items() for one in some], ids=spelled
)
def test_a_refinement_that_breaks_a_law_fails_under_its_name(law: str, refinement: ResultRefinement) -> None:
    laws: Any = type("TestRefinement", (ResultRefinementLaws,), {"refinement": refinement})()
    with pytest.raises(LawError) as broken:
        getattr(laws, law)()
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert f"{refinement.name} 1 breaks the law" in str(broken.value)


def test_every_law_has_a_refinement_that_breaks_it() -> None:
    assert set(HOSTILE) == set(LAWS)
