"""Triggers: rules for emitting the result of an open window early.

A plain trigger fires once and is finished; `repeat` starts it anew, and `every` and `every_count` are such repetitions.
`all_of`, `any_of`, `each`, `repeat` and `until` compose triggers as Beam's AfterAll, AfterFirst, AfterEach, Repeatedly
and OrFinally do.
"""

from muntin.triggers.composed import all_of, any_of, each, repeat, until
from muntin.triggers.description import to_dict
from muntin.triggers.elementary import (
    after,
    after_count,
    every,
    every_count,
    on_signal,
    past_end,
    past_part,
    percentile,
    reaches,
    when,
)
from muntin.triggers.named import named
from muntin.triggers.trigger import FINISHED, Decision, Trigger, TriggerView

__all__ = [
    "FINISHED",
    "Decision",
    "Trigger",
    "TriggerView",
    "after",
    "after_count",
    "all_of",
    "any_of",
    "each",
    "every",
    "every_count",
    "named",
    "on_signal",
    "past_end",
    "past_part",
    "percentile",
    "reaches",
    "repeat",
    "to_dict",
    "until",
    "when",
]
