"""Random streams through the evaluators in process, after each batch compared with the reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from unittest.mock import patch

from muntin import ClipPolicy, EmitPolicy, OutputContract, Refinement, TimestampPolicy
from muntin.changes import Insertion
from muntin.testing.batches import Batch, KeyedChange, Step
from muntin.testing.scripts import Script
from muntin.testing.streams import random_stream, shuffle, split
from muntin_engine.evaluators.general import window_index
from muntin_engine.evaluators.general.key_state import SPECIAL
from muntin_engine.evaluators.keyed import key_store
from muntin_engine.state import log
from tests.differential.calendars import CALENDARS, on_the_calendar
from tests.differential.cases import BY_NAME, GROWING, RANKED, TRAILING, WINDOWS, Case, policies, until_closed
from tests.differential.drive import check, follow, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.lives import OWN, LivesCase
from tests.differential.lives import run as run_lives
from tests.differential.modules import SHAPES
from tests.differential.patterns import LivesPatternRun, PatternRun, punctuated_in_part, with_composite_keys
from tests.differential.test_early import HOPPING
from tests.differential.test_inputs import insertions, samples
from tests.torture.kind import Figures, Trial


def of_any_size(trial: Trial) -> Trial:
    """Run a trial with states that are as small as they are, or that take every way that large ones take."""

    def run_trial(seed: int, folder: Path) -> Figures:
        large, dead, alike, objects, run = ((48, 256, 2, 2, 3), (1024, 16384, 8, 1024, 128))[seed % 2]
        with (
            patch.object(key_store, "LARGE", large),
            patch.multiple(log, MOST_DEAD=dead, MOST_ALIKE=alike),
            patch.multiple(window_index, MOST_OBJECTS=objects, RUN=run),
        ):
            return trial(seed, folder)

    return run_trial


FEW = 40
"""Up to as many events, a stream that fails is made smaller before it is shown."""


@of_any_size
def general(seed: int, folder: Path) -> Figures:
    """Run one of all queries over a random stream: named events, events without ids, or samples."""
    random = Random(seed)
    shape = random.choice(list(SHAPES))
    window, emit = random.choice(list(BY_NAME)), random.choice(list(EmitPolicy))
    if shape == "operator that looks back":
        clip = random.choice(list(ClipPolicy))
        case = Case(window, shape, clip, TimestampPolicy.UNCHANGED, emit, OutputContract.UNRESTRICTED)
    else:
        clip, timestamps = random.choice(list(policies(shape)))
        inputs = random.choice(("named", "named", "anonymous", "samples"))
        case = replace(
            Case(window, shape, clip, timestamps, emit), has_ids=inputs != "anonymous", is_edge=inputs == "samples"
        )
    stream = samples(seed) if case.is_edge else _stream(random, has_revisions=case.has_ids)
    if window in CALENDARS:
        stream = on_the_calendar(window, stream)
    if len(stream.steps) <= FEW:
        check(case, stream, run)
    else:
        run(case, stream)
    return _figures(stream)


@of_any_size
def early(seed: int, folder: Path) -> Figures:
    """Run a query with early results on a random trigger."""
    random = Random(seed)
    refinement = random.choice(list(Refinement))
    shape = random.choice([shape for shape in SHAPES if shape != "operator that looks back"])
    window = random.choice(list(BY_NAME) if refinement is Refinement.RETRACT else [*HOPPING, *GROWING])
    clip, timestamps = random.choice(list(policies(shape)))
    has_ids = refinement is not Refinement.DISCARD and random.random() < 0.7
    case = EarlyCase(Case(window, shape, clip, timestamps, has_ids=has_ids), refinement, random.randrange(10**9))
    stream = case.stream if has_ids else insertions(case)
    check(case, stream, run_early)
    return _figures(stream)


@of_any_size
def lives(seed: int, folder: Path) -> Figures:
    """Run a query that forgets keys."""
    random = Random(seed)
    shape = random.choice([shape for shape in SHAPES if shape != "operator that looks back"])
    clip, timestamps = random.choice(list(policies(shape)))
    window, emit = random.choice(list(WINDOWS | GROWING | TRAILING | RANKED | OWN)), random.choice(list(EmitPolicy))
    case = LivesCase(
        window,
        shape,
        clip,
        timestamps,
        emit,
        has_ids=random.random() < 0.7,
        age=random.randint(1, 30),
        is_filtered=random.random() < 0.3,
    )
    stream = _stream(random, has_revisions=case.has_ids)
    check(case, stream, run_lives)
    return _figures(stream)


@of_any_size
def patterns(seed: int, folder: Path) -> Figures:
    """Run a query of composite keys, which may forget them, over a stream that punctuates them in part."""
    random = Random(seed)
    shape = random.choice([shape for shape in SHAPES if shape != "operator that looks back"])
    clip, timestamps = random.choice(list(policies(shape)))
    window, emit = random.choice(list(WINDOWS | GROWING | TRAILING | RANKED)), random.choice(list(EmitPolicy))
    case, run_patterns = Case(window, shape, clip, timestamps, emit), PatternRun
    if random.random() < 0.4:
        case = LivesCase(window, shape, clip, timestamps, emit, age=random.randint(1, 30))
        run_patterns = LivesPatternRun
    stream = with_composite_keys(case.another_stream(seed, in_order=True))
    stream = punctuated_in_part(stream, seed, random.random())
    check(case, stream, lambda case, stream: follow(run_patterns(case), stream))
    return _figures(stream)


@of_any_size
def without_special_assigners(seed: int, folder: Path) -> Figures:
    """Run one of the above with Muntin's own kinds of windows cut by the general assigner."""
    with patch.dict(SPECIAL, clear=True):
        return (general, general, early, lives)[seed % 4](seed, folder)


def _stream(random: Random, *, has_revisions: bool) -> Script:
    """Return a legal stream: mostly a short one; now and then one hot key with hundreds of events."""
    is_hot = random.random() < 0.05
    keys = ("hot",) if is_hot else ("a", "b", None)
    events = random.randint(80, 300) if is_hot else random.randint(1, 20)
    starts = range(-20, random.randint(0, 60))
    seed = random.randrange(10**9)
    stream = until_closed(random_stream(seed, keys=keys, events=events, starts=starts, disorder=random.randrange(30)))
    shuffled = until_closed(shuffle(stream, seed, early_revisions=random.random() < 0.7))
    cut = split(shuffled, seed, cuts=random.choice((0.05, 0.1, 0.3, 0.9)))
    return cut if has_revisions else Script(tuple(step for step in cut.steps if not _is_revision(step)))


def _is_revision(step: Step) -> bool:
    return isinstance(step, KeyedChange) and not isinstance(step.change, Insertion)


def _figures(stream: Script) -> Figures:
    batches: list[Batch] = list(stream.batches())
    return {
        "streams": 1,
        "changes": len(stream.changes()),
        "batches": len(batches),
        "restarts": sum(batch.restart_before for batch in batches),
    }
