"""In bands, in blocks and from sources that are behind: the output is that of the reference after every batch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muntin import EmitPolicy
from muntin.testing import Script, band_disorder, block_disorder, random_stream, source_skew, split
from tests.differential.cases import WINDOWS, Case
from tests.differential.drive import check, run

KINDS: dict[str, Callable[[Script, int], Script]] = {
    "band": lambda script, seed: band_disorder(script, 12, seed, every=3),
    "block": lambda script, seed: block_disorder(script, 15, seed),
    "skew": lambda script, seed: source_skew(script, {"a": 14, None: 5}, every=4),
}


@pytest.mark.parametrize("emit", [EmitPolicy.FINAL, EmitPolicy.SPECULATIVE])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", WINDOWS)
def test_the_output_is_that_of_the_reference_in_every_kind_of_disorder(
    window: str, kind: str, emit: EmitPolicy
) -> None:
    case = Case(window, "time-sensitive aggregate", emit=emit)
    script = random_stream(case.seed, keys=("a", "b", None), events=9, starts=range(-20, 25))
    check(case, split(KINDS[kind](script, case.seed), case.seed, cuts=0.4), run)
