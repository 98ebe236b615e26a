"""Real modules over random streams, through every evaluator that can run them, with restarts and crashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any, Final

from muntin import (
    Axis,
    EarlyEmission,
    EmitPolicy,
    Module,
    OutputContract,
    Refinement,
    StreamOperator,
    TimestampPolicy,
    count_by_end,
    count_by_start,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.catalog import installed
from muntin.changes import Insertion
from muntin.schemas import DataType, Field, ListOf, OneOf, Scalar, ScalarKind, Struct, Variable
from muntin.testing import Computation, WindowedQuery
from muntin.testing.batches import KeyedChange
from muntin.testing.scripts import Script
from muntin.triggers import every_count
from muntin_engine.testing import crash_everywhere
from muntin_engine.testing.random_streams import random_stream
from tests.scenarios.streams import lasting
from tests.scenarios.windows import until_closed
from tests.torture.kind import Figures

WINDOWS = (
    tumbling(8),
    tumbling(30),
    hopping(10, 4),
    hopping(12, 2, -5),
    hopping(3, 5),
    tumbling(6, reach=4),
    hopping(12, 4, reach=6),
    snapshot(),
    session(4),
    count_by_start(2),
    count_by_end(3),
)


def crashing(seed: int, folder: Path) -> Figures:
    """Run a module of an installed plugin: no restart or crash at any step shows, nor which evaluator ran it."""
    random = Random(seed)
    plugins, failed = installed().plugins()
    assert plugins
    assert not failed
    module_classes: dict[str, Any] = {}
    for plugin in plugins:
        module_classes |= plugin.modules
    name = random.choice(sorted(module_classes))
    module = make(module_classes[name])
    if isinstance(module, StreamOperator):
        return _following(random, module)

    clip = random.choice(sorted(module.accepted_clips))
    sets_times = module.is_operator and module.is_time_sensitive
    policies = list(TimestampPolicy) if sets_times else [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END]
    if not module.is_time_sensitive:  # one that sees its window has no result before the window's end is known
        policies.append(TimestampPolicy.TIME_BOUND)
    timestamps = random.choice(policies)
    windows = [window for window in WINDOWS if not module.needs.lacks(window, Axis.TICKS)]
    query = WindowedQuery(random.choice(windows), [Computation(module)], clip, timestamps)

    early = EarlyEmission(every_count(2), Refinement.RETRACT)
    emit = random.choice((*EmitPolicy, EmitPolicy.FINAL, EmitPolicy.FINAL, early))
    if timestamps is TimestampPolicy.TIME_BOUND:
        emit = EmitPolicy.EAGER  # nothing else is accepted
    elif emit is EmitPolicy.EAGER and module.contract is OutputContract.TIME_BOUND:
        emit = EmitPolicy.SPECULATIVE  # what a module promises by its contract cuts off results: scenarios draw those
    script = _stream(random, module.input_field(), is_revised=not isinstance(emit, EarlyEmission))
    survived = crash_everywhere(script, query, emit=emit)
    return {"streams": 1, "steps": survived.steps, "evaluations": 3 * len(survived.evaluators)}


def stream_for(random: Random, module: Module) -> Script:
    """Return a closed stream of what a module reads, without revisions; of points for one that follows a stream."""
    steps = _stream(random, module.input_field(), is_revised=False).steps
    if not isinstance(module, StreamOperator):
        return Script(steps)
    return Script(tuple(lasting(steps, 1)))


def _following(random: Random, operator: StreamOperator[Any, Any, Any]) -> Figures:
    """Run an operator that follows a stream of points."""
    survived = crash_everywhere(stream_for(random, operator), WindowedQuery.unwindowed(operator))
    return {"streams": 1, "steps": survived.steps, "evaluations": 3 * len(survived.evaluators)}


NEEDED: Mapping[str, Any] = {
    **{"q": 0.3, "k": 3, "within": 5, "after": 6, "threshold": 0.0, "n": 2, "limits": [-20.0, 0.0, 0.5, 30.0]},
    "start": "idle",
    "transitions": [("idle", "a", "busy"), ("busy", "b", "idle"), ("busy", "a", "stuck")],
}
"""Values for the parameters that modules need, by name."""

CHOSEN: Mapping[str, Mapping[str, Any]] = {"stats.exponentially_weighted_average": {"half_life": 7}}
"""What is given to modules that need one of several parameters, by the module's name."""


def make(cls: type[Module]) -> Module:
    """Return a module with the parameters that it needs."""
    needed_names: list[str] = []
    for parameter in signature(cls).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            needed_names.append(parameter.name)
    unknown_names = [name for name in needed_names if name not in NEEDED]
    assert not unknown_names, f"{cls.name} needs {unknown_names}: say in NEEDED what to give"
    needed = {name: NEEDED[name] for name in needed_names}
    return cls(**needed, **CHOSEN.get(cls.name, {}))


def _stream(random: Random, reads: Field, *, is_revised: bool) -> Script:
    """Return a closed stream of what a module reads, with revisions in half of the cases.

    Args:
        random: Generator of random numbers.
        reads: What the module reads. A type that the query binds is that of numbers, or of text if it may be.
        is_revised: True if there may be revisions.
    """
    stand_ins: list[Callable[[Random], Any]] = [_integer, _float]
    if not _wants_numbers(reads):
        stand_ins.append(_text)
    stand_in = random.choice(stand_ins)
    stream = random_stream(
        random.randrange(10**9),
        keys=("a", "b", None),
        events=random.choice((3, 6, 12, 25)),
        starts=range(-20, random.randint(0, 40)),
        payload=lambda random: _value(reads, random, stand_in),
        disorder=random.randrange(20),
        closed=True,
    )
    steps = until_closed(stream).steps
    if is_revised and random.random() < 0.5:
        return Script(steps)
    without_revisions = [
        step for step in steps if not isinstance(step, KeyedChange) or isinstance(step.change, Insertion)
    ]
    return Script(tuple(without_revisions))


def _wants_numbers(reads: Field) -> bool:
    """True if a type that the query binds cannot be text, wherever it stands in the payload."""
    if isinstance(reads.type, Variable):
        kinds = [getattr(choice.type, "kind", None) for choice in reads.type.choices]
        return bool(kinds) and ScalarKind.STRING not in kinds
    return any(map(_wants_numbers, reads.type.parts))


def _value(field: Field, random: Random, stand_in: Any) -> Any:
    """Draw a value of a field, now and then null; `stand_in` draws those of types that the query binds."""
    if field.is_nullable and random.random() < 0.15:
        return None
    return _of_type(field.type, random, stand_in)


def _of_type(data_type: DataType, random: Random, stand_in: Any) -> Any:
    if isinstance(data_type, Struct):
        return data_type.make(**{part.name: _value(part, random, stand_in) for part in data_type.fields})
    if isinstance(data_type, OneOf):
        return _value(random.choice(data_type.inputs), random, stand_in)
    if isinstance(data_type, ListOf):
        return [_value(data_type.element, random, stand_in) for _ in range(random.randrange(4))]
    if isinstance(data_type, Scalar):
        return _SCALARS[data_type.kind](random)
    return stand_in(random)


def _integer(random: Random) -> int:
    return random.choice((random.randint(-3, 3), random.randint(-1000, 1000)))


def _float(random: Random) -> float:
    return random.choice((random.randint(-16, 16), random.randint(-8000, 8000))) / 8


def _text(random: Random) -> str:
    return random.choice(("", "a", "b", "é", "ab"))


_SCALARS: Final[Mapping[ScalarKind, Callable[[Random], Any]]] = {
    ScalarKind.BOOLEAN: lambda random: random.random() < 0.5,
    ScalarKind.INTEGER: _integer,
    ScalarKind.FLOAT: _float,
    ScalarKind.STRING: _text,
    ScalarKind.DECIMAL: lambda random: Decimal(random.randint(-1000, 1000)).scaleb(-2),
    ScalarKind.INSTANT: lambda random: random.randint(-30, 30),
}
