"""One input of a query, as the tasks that read its rows see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from muntin.schemas import Field
from muntin_engine.core.nulls import forbids_null
from muntin_engine.plan import Input, Plan
from muntin_engine.progress import ProgressTracker


@dataclass(frozen=True, slots=True)
class InputColumns:
    """The form in which the columns of an input travel.

    Attributes:
        payload: The Arrow types in which the columns `i0`, `i1`, ... travel. Where events that a filter leaves out are
            kept, the last one says which they are.
        has_changes: True if rows say what they do; otherwise each is an insertion.
    """

    payload: tuple[pa.DataType, ...]
    has_changes: bool = False


@dataclass(frozen=True)
class Read:
    """A read of a column by a module.

    Attributes:
        place: The place of the column in the payload of its input.
        field: The type that the module reads.
        reader: The label of the module in the query's metrics.
    """

    place: int
    field: Field
    reader: str


@dataclass(frozen=True)
class InputTask:
    """One input of a query.

    Attributes:
        plan: The plan of the query.
        side: The place of the input among those of the query.
        keys: The Arrow types in which the key columns travel.
        columns: The form in which the other columns travel.
        time_type: The type of times in the results.
    """

    plan: Plan
    side: int
    keys: tuple[pa.DataType, ...]
    columns: InputColumns
    time_type: pa.DataType

    @cached_property
    def given(self) -> Input:
        """The input in the plan."""
        return self.plan.inputs[self.side]

    @cached_property
    def tracker(self) -> ProgressTracker:
        """The tracker of its progress."""
        return ProgressTracker(self.given.progress, self.given.sources, self.plan.steps)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(f"k{place}" for place in range(len(self.keys)))

    @cached_property
    def payload_names(self) -> tuple[str, ...]:
        """The names of the columns that make the payload."""
        return tuple(f"i{place}" for place in range(len(self.columns.payload)))

    @cached_property
    def own_payload_names(self) -> tuple[str, ...]:
        """The names of those that are of the input, and not made of its filter."""
        return self.payload_names[:-1] if self.given.keeps_filtered else self.payload_names

    @cached_property
    def carried_names(self) -> tuple[str, ...]:
        """The names of all columns of its projected rows."""
        named = self.given.columns
        roles = ("end", "id", "new_end", "signal", "source")
        return (
            "bucket",
            "start",
            *(role for role in roles if getattr(named, role) is not None),
            *(["change"] if self.columns.has_changes else []),
            *(["kept"] if named.conditions else []),
            *self.key_names,
            *self.own_payload_names,
        )

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The reads by modules that do not accept every null."""
        return tuple(
            Read(place, field, label)
            for label, module in zip(self.plan.module_labels, self.plan.modules, strict=True)
            if module.side == self.side
            for place, field in zip(module.columns, module.reads, strict=True)
            if forbids_null(field)
        )
