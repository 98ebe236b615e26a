"""A query whose modules are upgraded on the way puts out what it would have put out without.

Each restart brings the next schema version of all modules, with another shape of state; the third one may find states
of the first. After every batch the output is compared with the reference, and retractions with what stands.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, ClipPolicy, EmitPolicy, TimestampPolicy, hopping, session, tumbling
from muntin.testing.batches import Batch
from muntin.testing.scripts import Script
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.compatibility import Compatibility
from tests.core.sliced.build import DeductingMembers, Feed, Members, Row, SizedMembers, Total, expected, sliced
from tests.differential import drive, slices
from tests.differential.cases import WINDOWS, Case, under_one_emission
from tests.differential.drive import check
from tests.differential.forms import FORMS
from tests.differential.schema_versions import columnar_schema_version, identity_of, schema_version
from tests.differential.slices import SliceCase
from tests.differential.state_sessions import MODULES as STATE_MODULES
from tests.differential.state_sessions import StateSessionCase, StateSessionRun

LAST = 3

KEPT = [
    "aggregate",
    "incremental aggregate",
    "incremental aggregate that removes",
    "time-sensitive incremental aggregate that removes",
    "three aggregates",
    "incremental operator that removes",
    "time-sensitive incremental operator",
]


class SchemaVersionsRun(drive.Run):
    """A stream on its way through a bucket whose modules are newer after each restart."""

    def __init__(self, case: Case) -> None:
        self.schema_version = 0
        super().__init__(case)

    def _start(self) -> Any:
        self.schema_version = min(self.schema_version + 1, LAST)
        return super()._start()

    @property
    def query(self) -> EvaluatorQuery:
        """The query with the modules of the present schema version."""
        query = self.case.query
        return replace(
            query,
            bindings=tuple(
                replace(part, module=schema_version(part.module, self.schema_version)) for part in query.bindings
            ),
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What the state depends on."""
        return {**super().identity, **identity_of([binding.module for binding in self.query.bindings])}

    def take(self, batch: Batch) -> BatchResult:
        """Run a batch; before the second and the third one there is a restart."""
        restarts = batch.restart_before or self.schema_version < LAST
        return super().take(replace(batch, restart_before=restarts and self.progress.horizon > EARLIEST))


def run(case: Case, stream: Script) -> None:
    drive.follow(SchemaVersionsRun(case), stream)


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_modules_of_the_general_evaluator_may_be_upgraded_on_the_way(window: str, emit: EmitPolicy) -> None:
    for shape in under_one_emission(KEPT, window, emit):
        case = Case(window, shape, ClipPolicy.FULL, TimestampPolicy.ALIGN, emit)
        check(case, case.stream, run)


MODULES = {
    "combine": (Members(), Total()),
    "deduct": (DeductingMembers(),),
    "rows or states": (SizedMembers(),),
}


@pytest.mark.parametrize("modules", MODULES)
@pytest.mark.parametrize("window", [tumbling(10), hopping(30, 10), hopping(7, 2)], ids=str)
def test_modules_with_python_states_over_slices_may_be_upgraded_on_the_way(window: Any, modules: str) -> None:
    for seed in range(4):
        random, rows = Random(seed), list[Row]()
        feed, number = Feed(sliced(window, *MODULES[modules])), 0
        for batch in range(14):
            if batch % 5 == 0:
                number += 1
                present = [schema_version(module, number) for module in MODULES[modules]]
                output, cells = feed.output, feed.cells
                feed = Feed(sliced(window, *present), cells)
                feed.output, feed.compatibility = output, Compatibility(identity_of(present), present)
            upto = 4 * batch
            some = [
                Row((random.choice("abc"),), random.randint(upto, upto + 25), random.randint(-9, 9))
                for _ in range(random.randint(0, 9))
            ]
            rows += some
            feed.batch(some, upto)
        feed.batch([], INFINITY)
        assert number == LAST
        assert sorted(feed.output, key=repr) == sorted(expected(window, MODULES[modules], rows, INFINITY), key=repr)


class Upgrading(slices.SliceRun):
    """A stream on its way through buckets whose modules are newer after each restart."""

    schema_version = 1

    def take(self, batch: Batch) -> None:
        """Run a batch; before the second and the third one there is a restart."""
        is_first = self.progress.horizon == EARLIEST
        if not is_first and (batch.restart_before or self.schema_version < LAST):
            self.schema_version = min(self.schema_version + 1, LAST)
            batch = replace(batch, restart_before=True)
        super().take(batch)


class SchemaVersionsSliceRun(Upgrading):
    """A stream on its way through buckets over slices whose modules are newer after each restart."""

    @property
    def forms(self) -> tuple[BoundForm, ...]:
        """The forms of the present schema version."""
        schema_versions = [columnar_schema_version(bound.form, self.schema_version) for bound in self.case.bound]
        return tuple(
            replace(bound, form=form, label=f"{form.name} {form.version}")
            for bound, form in zip(self.case.bound, schema_versions, strict=True)
        )

    @property
    def compatibility(self) -> Compatibility:
        """What the state depends on."""
        forms = [bound.form for bound in self.forms]
        components = [
            [[name, str(part.merge), part.dtype, list(part.shape)] for name, part in form.components().items()]
            for form in forms
        ]
        return Compatibility({**identity_of(forms), "components": components}, forms, forms)


def run_slices(case: SliceCase, stream: Script) -> None:
    slices.follow(SchemaVersionsSliceRun(case), stream)


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("window", [tumbling(7, 3), hopping(10, 3)], ids=str)
def test_columnar_modules_may_be_upgraded_on_the_way(window: Any, forms: str, is_point: bool) -> None:
    for number in range(2):
        case = SliceCase((window,), forms, is_point, number)
        check(case, case.stream, run_slices)


class SchemaVersionsSessionRun(Upgrading, StateSessionRun):
    """A stream on its way through buckets of sessions whose modules are newer after each restart."""

    @property
    def bindings(self) -> list[Binding]:
        """The modules of the present schema version."""
        return [replace(part, module=schema_version(part.module, self.schema_version)) for part in self.case.bindings]

    @property
    def compatibility(self) -> Compatibility:
        """What the state depends on."""
        modules = [binding.module for binding in self.bindings]
        return Compatibility(identity_of(modules), modules)


def run_sessions(case: StateSessionCase, stream: Script) -> None:
    slices.follow(SchemaVersionsSessionRun(case), stream)


@pytest.mark.parametrize("modules", STATE_MODULES)
@pytest.mark.parametrize("gap", [1, 4, 15])
def test_modules_with_python_states_over_sessions_may_be_upgraded_on_the_way(gap: int, modules: str) -> None:
    for number in range(2):
        case = StateSessionCase((session(gap),), modules, True, number)
        check(case, case.stream, run_sessions)
