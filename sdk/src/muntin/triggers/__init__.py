"""Triggers: rules for emitting the result of an open window early.

A plain trigger fires once and is finished; `repeat` starts it anew, and `every` and `every_count` are such repetitions.
`all_of`, `any_of`, `each`, `repeat` and `until` compose triggers as Beam's AfterAll, AfterFirst, AfterEach, Repeatedly
and OrFinally do.
"""

from muntin.triggers.count import after_count, every_count
from muntin.triggers.description import to_dict
from muntin.triggers.in_turn import each, repeat, until
from muntin.triggers.named import named
from muntin.triggers.on_signal import on_signal
from muntin.triggers.parallel import all_of, any_of
from muntin.triggers.past import past_end, past_part
from muntin.triggers.percentile import percentile
from muntin.triggers.timer import after, every
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.triggers.when import reaches, when

__all__ = [
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
