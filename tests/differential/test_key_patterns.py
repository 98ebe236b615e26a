"""Punctuation of part of a composite key and of ranges, on random streams, against the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from muntin import EmitPolicy
from muntin.testing import KeyedChange, KeyPunctuation, Script
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import KeyedRun
from muntin_engine.state.bucket_state import BucketMetadata
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.differential.cases import Case, under_one_emission
from tests.differential.drive import check, failure, follow
from tests.differential.patterns import PatternRun, divided, hasty, punctuated_in_part, rows_of, with_composite_keys
from tests.differential.test_progress_policies import EVERY_EMISSION, EVERY_WINDOW, cases


def stream_of(case: Case, number: int = 0) -> Script:
    """Return a stream whose keys are punctuated in part, as far as its order allows."""
    in_order = case.another_stream(number, in_order=True)  # a pattern's time is drawn from sync times alone
    return punctuated_in_part(with_composite_keys(in_order), case.seed + number)


def run(case: Case, stream: Script) -> None:
    follow(PatternRun(case), stream)


@EVERY_EMISSION
@EVERY_WINDOW
def test_keys_are_as_far_as_the_patterns_that_allow_them(window: str, emit: EmitPolicy) -> None:
    told = 0
    for case in under_one_emission(cases(window, emit, every=17), window, emit):
        stream = stream_of(case)
        told += sum(isinstance(step, KeyPunctuation) for step in stream.steps)
        check(case, stream, run)
    assert told > 5


def run_hasty(case: Case, stream: Script) -> None:
    """Run a stream with late rows, and compare them, and the output, with the reference."""
    random, cells, bucket = Random(case.seed), MemoryCells(), None
    late, output = Counter[str](), Counter[str]()
    for batch in stream.batches():
        if bucket is None or batch.restart_before:
            bucket = Bucket(case.query, cells, Codec(), {})
        rows, (whole, patterns) = rows_of(case, batch, random), divided(batch, random)
        arrived = progress_of(case.query.window, batch)
        result = bucket.process(rows, arrived, key_watermarks=whole, patterns=patterns)
        late.update(repr((key, rejection.change.start)) for key, rejection in result.rejections)
        output.update(repr((key, change.window, change.value)) for key, some in result.output for change in some)
    assert late == Counter(repr((step.key, step.change.event.start)) for step in late_rows(stream))
    wanted = stream.run(case.reference).items()
    assert output == Counter(repr((key, row.window, row.value)) for key, rows in wanted for row in rows)


def late_rows(stream: Script) -> list[KeyedChange]:
    return [step for step in stream.illegal() if isinstance(step, KeyedChange)]


def hasty_stream(case: Case, number: int) -> Script:
    return hasty(with_composite_keys(case.another_stream(number, in_order=True)), number)


@pytest.mark.parametrize("window", ["tumbling", "overlapping", "wide"])
def test_rows_behind_a_pattern_are_late_and_others_are_not(window: str) -> None:
    case, late = Case(window, "incremental aggregate", has_ids=False), 0
    for number in range(12):
        stream = hasty_stream(case, number)
        late += len(late_rows(stream))
        check(case, stream, run_hasty)
    assert late > 20


def test_the_test_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of what a pattern does is needed: keys that wait, keys that come later, and the time it lasts."""
    with_ids, without = (
        cases("tumbling", EmitPolicy.FINAL, every=5),
        Case("tumbling", "three aggregates", has_ids=False),
    )

    def fails() -> bool:
        streams = ((case, stream_of(case, number)) for case in with_ids for number in range(3))
        if any(failure(case, stream, run) for case, stream in streams):
            return True
        return any(failure(without, hasty_stream(without, number), run_hasty) for number in range(12))

    assert not fails()
    for name, nothing in {"_keys_ahead": [], "is_ahead": False}.items():
        with monkeypatch.context() as patched:
            patched.setattr(KeyedRun, name, lambda *_, nothing=nothing: nothing)
            assert fails(), name
    with monkeypatch.context() as patched:
        patched.setattr(BucketMetadata, "from_bytes", forgetful(BucketMetadata.from_bytes))
        assert fails()


def forgetful(read: Callable[..., BucketMetadata]) -> Callable[..., BucketMetadata]:
    """Return a way to read metadata that leaves patterns out."""
    return lambda *given: replace(read(*given), patterns=())
