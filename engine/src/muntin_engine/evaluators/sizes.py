"""The sizes of the state of all evaluators.

They were fitted to measurements of one bucket and hold within 20 % for others, which `tests/sizes` repeats. They are of
CPython 3.11 on 64 bits, of times in microseconds, and of numbers; text differs by the objects that Python makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from muntin_engine.plan.sizes import Bytes, Sizes, StateBytes, ValuesOf

_CODED: Final = Bytes(96, per_byte=2)
"""The memory of a key among arrays: its entry in a dict, the key as an object, and as a row of a table."""

_AS_IT_IS: Final = Bytes(0, per_byte=1)
"""A key in an entry of a log of arrays."""


def _packed(fixed: float) -> Bytes:
    """Return the bytes of values that MessagePack writes: each has a byte more."""
    return Bytes(fixed, per_byte=1, per_value=1)


def _decoded(fixed: float) -> Bytes:
    """Return the bytes of values that are Python objects, and are there as bytes as well."""
    return Bytes(fixed, per_byte=2, per_value=25)


SIZES: Final[Mapping[str, Sizes]] = MappingProxyType(
    {
        "columnar, slices": Sizes(
            "a partial state per slice with rows",
            ValuesOf.COMPONENTS,
            StateBytes(_AS_IT_IS, stretch=Bytes(5, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(24, per_byte=1)),
            is_merged=True,
        ),
        "columnar, runs of slices": Sizes(
            "a partial state per range of windows with events",
            ValuesOf.COMPONENTS,
            StateBytes(_AS_IT_IS, stretch=Bytes(6, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(32, per_byte=1)),
            is_merged=True,
        ),
        "columnar, sessions": Sizes(
            "a partial state per open session",
            ValuesOf.COMPONENTS,
            StateBytes(_AS_IT_IS, stretch=Bytes(9, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(32, per_byte=1)),
        ),
        "columnar, snapshots": Sizes(
            "an event until it has ended",
            ValuesOf.SINGLE,
            StateBytes(_AS_IT_IS, row=Bytes(10, per_byte=1)),
            StateBytes(_CODED, row=Bytes(32, per_byte=1)),
        ),
        "columnar, events with ids": Sizes(
            "an event until it has ended",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, row=Bytes(18, per_byte=1)),
            StateBytes(_CODED, row=Bytes(63, per_byte=2)),
        ),
        "sliced, slices": Sizes(
            "a state per slice with rows",
            ValuesOf.STATES,
            StateBytes(_AS_IT_IS, stretch=Bytes(5, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(32, per_byte=12)),
            is_merged=True,
        ),
        "sliced, sessions": Sizes(
            "a state per open session",
            ValuesOf.STATES,
            StateBytes(_AS_IT_IS, stretch=Bytes(9, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(40, per_byte=12)),
        ),
        "grouped, slices": Sizes(
            "the rows of open windows",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, stretch=Bytes(3), row=Bytes(4, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(34), row=Bytes(14, per_byte=1)),
            is_merged=True,
        ),
        "grouped, slices that a state slides over": Sizes(
            "the rows of open windows, and a state that slides over them",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, stretch=Bytes(3), row=Bytes(4, per_byte=1)),
            StateBytes(Bytes(1_220, per_byte=2), stretch=Bytes(112), row=Bytes(34, per_byte=1)),
            is_merged=True,
        ),
        "grouped, runs of slices": Sizes(
            "the events of open windows",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, row=Bytes(13, per_byte=1)),
            StateBytes(_CODED, row=Bytes(55, per_byte=1)),
            is_merged=True,
        ),
        "grouped, sessions": Sizes(
            "the rows of open sessions",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, stretch=Bytes(11), row=Bytes(4, per_byte=1)),
            StateBytes(_CODED, stretch=Bytes(50), row=Bytes(14, per_byte=1)),
        ),
        "grouped, snapshots": Sizes(
            "an event until it has ended",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, row=Bytes(18, per_byte=1)),
            StateBytes(_CODED, row=Bytes(55, per_byte=1)),
        ),
        "general": Sizes(
            "the events of open windows",
            ValuesOf.ROWS,
            StateBytes(Bytes(42, per_byte=1), row=_packed(18)),
            StateBytes(Bytes(335, per_byte=1), row=_packed(21)),
            StateBytes(Bytes(335, per_byte=1), row=_decoded(253)),
            record=80,
        ),
        "general, events with ids": Sizes(
            "the events of open windows",
            ValuesOf.ROWS,
            StateBytes(Bytes(70, per_byte=1), row=_packed(23)),
            StateBytes(Bytes(385, per_byte=1), row=_packed(26)),
            StateBytes(Bytes(2_500, per_byte=1), row=_decoded(350)),
        ),
        "in_order, states": Sizes(
            "the rows that wait for the watermark, and the states of open windows",
            ValuesOf.ROWS,
            StateBytes(Bytes(250, per_byte=1), row=_packed(19)),
            StateBytes(Bytes(720, per_byte=1), row=_packed(25)),
            StateBytes(Bytes(720, per_byte=1), row=_decoded(270)),
            holds_rows=False,
        ),
        "event_by_event": Sizes(
            "the events that wait for the watermark, and the state of the operator",
            ValuesOf.ROWS,
            StateBytes(Bytes(85, per_byte=1), row=_packed(19)),
            StateBytes(Bytes(600, per_byte=1), row=_packed(25)),
            StateBytes(Bytes(600, per_byte=1), row=_decoded(270)),
        ),
        "in_order, rows": Sizes(
            "the rows that wait for the watermark, and those in windows",
            ValuesOf.ROWS,
            StateBytes(Bytes(128, per_byte=1), row=_packed(31)),
            StateBytes(Bytes(700, per_byte=1), row=_packed(25)),
            StateBytes(Bytes(700, per_byte=1), row=_decoded(495)),
        ),
        "pairing": Sizes(
            "an event until the other stream has passed its end",
            ValuesOf.ROWS,
            StateBytes(_AS_IT_IS, row=Bytes(10, per_byte=1)),
            StateBytes(_CODED, row=Bytes(47, per_byte=1)),
        ),
        "joining": Sizes(
            "an event until the other stream has passed its end",
            ValuesOf.ROWS,
            StateBytes(Bytes(93, per_byte=1), row=_packed(21)),
            StateBytes(Bytes(750, per_byte=1), row=_packed(36)),
            StateBytes(Bytes(750, per_byte=1), row=_decoded(253)),
        ),
    }
)
"""By evaluator, and what its windows are made of where that makes a difference."""
