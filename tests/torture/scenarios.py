"""Torture by scenarios: each is drawn anew, and run by every evaluator that can."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.frame_kinds import FRAME_MAKERS
from tests.scenarios.on_tables import check_job, check_on_tables
from tests.scenarios.scenario import Scenario
from tests.scenarios.small import with_small_limits
from tests.torture.kind import Figures, Trial


def trial_of(*families: str) -> Trial:
    """Return a trial that runs a scenario of some families."""

    def trial(seed: int, folder: Path) -> Figures:
        del folder
        scenario = drawn(Random(seed).choice(families), seed)
        with with_small_limits(seed):
            scenario.check()
        changes, batches = scenario.size
        return {"streams": 1, "changes": changes, "batches": batches, "evaluators": len(scenario.query.evaluators)}

    return trial


def tables(seed: int, folder: Path) -> Figures:
    """Run a scenario over tables in this process, and as a streaming job."""
    random = Random(seed)
    scenario = drawn(random.choice(list(FAMILIES)), seed)
    frame_kind = random.choice(list(FRAME_MAKERS))
    with with_small_limits(seed):
        check_on_tables(scenario, seed, frame_kind, folder)
        if isinstance(scenario, Scenario):
            check_job(scenario)
    changes, batches = scenario.size
    return {"streams": 1, "changes": changes, "batches": batches}


scenarios = trial_of(*FAMILIES)
streams = trial_of("cutting", "by_key", "paced", "corrected", "adjusted", "shedding", "forgetting")
early = trial_of("early")
joins = trial_of("joined", "joined_eagerly", "joined_narrowly", "paired")
lifetimes = trial_of("united")
hostile = trial_of("hostile")
operators = trial_of("following")
several = trial_of("of_inputs")
