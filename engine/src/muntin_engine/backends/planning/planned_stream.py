"""An event stream on its way to a plan: what a query reads of it, as a part of the plan and as a projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from muntin import Axis
from muntin.errors import QueryError
from muntin.errors.messages import Call, WrittenExpression
from muntin.schemas import ScalarKind
from muntin_engine.backends.planned_query import Projection
from muntin_engine.backends.planning.read_columns import ReadColumns, check_order, orders_by_name, text_identity
from muntin_engine.plan import Columns, Input, InputPolicies, NamedColumn
from muntin_engine.plan.inputs import POLICIES
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.request import ROLES
from muntin_engine.wire.event_ids import in_utc

if TYPE_CHECKING:
    from muntin_engine.backends.planning.column_reader import ColumnReader
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import ColumnLike, InputRequest

_TEXTS: Final = ("change", "signal", "source")
"""The roles whose columns are read as text."""


@dataclass
class PlannedStream:
    """An event stream with what the query reads of it.

    Attributes:
        reader: The reader of the columns of its backend, which projects them, too.
        request: The stream, as the query writer describes it.
        columns: The columns that it names, by the names under which they travel.
        conditions: The conditions on its insertions.
        inputs: The columns that modules read.
    """

    reader: ColumnReader
    request: InputRequest
    columns: Mapping[str, InputColumn]
    conditions: Sequence[InputColumn]
    inputs: ReadColumns

    @classmethod
    def of(cls, reader: ColumnReader, request: InputRequest) -> PlannedStream:
        """Look up the columns that make the rows of a stream events; modules add the columns that they read later.

        Args:
            reader: The reader of the columns of the stream's backend.
            request: The stream, as the query writer describes it.

        Raises:
            QueryError: A column is missing.
        """
        named_conditions = {f"where {place}": condition for place, condition in enumerate(request.conditions)}
        # The words of the query writer for columns, where these travel under another name.
        words = {f"k{place}": "key" for place, _ in enumerate(request.keys)}
        words |= dict.fromkeys(named_conditions, "where")
        if request.end is None:
            words["start"] = "at"

        # Conditions are looked up with the columns, in one call, and are no columns of the stream.
        columns = reader.look_up(request.df, {**request.named_columns, **named_conditions}, words)
        conditions = [columns.pop(name) for name in named_conditions]
        return cls(reader, request, columns, conditions, ReadColumns(reader, request.df))

    @cached_property
    def axis(self) -> Axis:
        """The axis of its times.

        Raises:
            QueryError: A column of times is of no type of times, or they are of several types.
        """
        times = [self.columns[name] for name in ("start", "end", "new_end") if name in self.columns]
        axes = {time.axis for time in times}
        scales = {time.decimal_places for time in times}
        spelled_types = {time.spelled_type for time in times}
        # Integers of several sizes are one type; timestamps with and without a zone are not.
        has_several_types = Axis.TIME in axes and len(spelled_types) > 1
        if len(axes) > 1 or len(scales) > 1 or has_several_types:
            spelled_times = ", ".join(f"{time.name} {time.spelled_type}" for time in times)
            raise QueryError(f"the times of a query must be of one type, got {spelled_times}")
        return axes.pop()

    @property
    def decimal_places(self) -> int | None:
        """The decimal places of its times, if these are decimals."""
        return self.columns["start"].decimal_places

    @property
    def keys(self) -> list[InputColumn]:
        """The columns that it is grouped by."""
        return [self.columns[f"k{place}"] for place, _ in enumerate(self.request.keys)]

    @property
    def spelled_times(self) -> str:
        """The type of its times, and their unit if they have one."""
        unit = "" if self.request.unit is None else f" in {self.request.unit}"
        return f"{self.columns['start'].spelled_type}{unit}"

    def order(self) -> list[int]:
        """Carry the columns that order rows of one time as further inputs, and return their places among the inputs.

        The first place is of the column that decides; each next one decides between rows that are equal so far.

        Raises:
            PolicyError: Two values of a column may not say which of them comes first.
        """
        places: list[int] = []
        for name, column in orders_by_name(self.request.order).items():
            (input_column,) = self.reader.look_up(self.request.df, {name: column}, readers={}).values()
            check_order(input_column)
            places.append(self.inputs.carry(column, input_column, input_column.read_as_is()))
        return places

    def input_plan(self, scale: AxisScale, order: Sequence[int] = ()) -> Input:
        """Return the stream as an input of the plan, once all modules have their columns.

        Args:
            scale: The meaning of the stream's times.
            order: The places of the columns that order rows of one time, among the columns that modules read.

        Raises:
            QueryError: A policy follows a clock and the times are no timestamps, or a column of lengths is of another
                type than the times.
        """
        request = self.request
        idle = request.progress.idle
        has_timestamps = scale.unit is None and scale.decimal_places is None
        if not has_timestamps and idle is not None and idle.lag is not None:
            raise QueryError(
                "a source that is idle follows a clock, and integer or decimal times do not\n"
                "  give {events} timestamps, for example {example}, or leave the lag out",
                events=Call("events"),
                example=WrittenExpression("timestamp_millis({})", "at"),
            )
        self._check_lengths()

        # The columns of the events, in words for explanations and errors. Roles and policies have the same names in the
        # request and in the plan.
        columns = Columns(
            **{name: _named(self.columns[name]) for name in ROLES if name in self.columns},
            keys=tuple(map(_named, self.keys)),
            payload=tuple(_named(carried_column.input_column) for carried_column in self.inputs.carried),
            conditions=tuple(map(_named, self.conditions)),
            ranges={name: _named(self.columns[name]) for name in request.ranges},
        )
        policies = scale.resolve(InputPolicies(**{name: getattr(request, name) for name in POLICIES}))
        # An input is chained if it is the results of another query. A union of such results is not called so: it has
        # rules for its sources, by which it is explained.
        is_union = bool(request.rules)
        return Input(
            columns,
            heartbeats=len(request.heartbeats),
            has_clock=request.clock is not None,
            order=order[0] if order else None,
            then_by=tuple(order[1:]),
            is_chained=bool(request.inner) and not is_union,
            **vars(policies),
        )

    def _check_lengths(self) -> None:
        """Refuse columns of lengths that cannot be added to the times of the stream.

        Raises:
            QueryError: A column of lengths is of another type than the times need.
        """
        lengths = self.request.length_columns
        columns = {length.name: length.name for length in lengths}  # the input has each as a column of that name
        input_columns = self.reader.look_up(self.request.df, columns, readers={})
        for length in lengths:
            input_column = input_columns[length.name]
            if self.axis is Axis.TIME:
                fits = input_column.kind is ScalarKind.INTERVAL
                expected = "an interval: expression(\"minutes * INTERVAL '1' MINUTE\")"
            elif self.decimal_places is not None:
                fits = input_column.decimal_places == self.decimal_places
                expected = f"of {self.decimal_places} places, as the times: cast it"
            else:
                fits = input_column.kind is ScalarKind.INTEGER
                expected = "of whole numbers, as the times"
            if not fits:
                times = self.columns["start"].spelled_type
                raise QueryError(
                    f"the length {length.text} is {input_column.spelled_type}, and times are {times}\n"
                    f"  expected: a column that is {expected}"
                )

    def projection(self, scale: AxisScale) -> Projection:
        """Project the columns of the stream that the query reads, once all modules have added theirs.

        The rows of heartbeats and of a clock are among the projected rows.

        Raises:
            QueryError: A key or an id is of a type that cannot travel.
        """
        id_type = None
        if "id" in self.columns:
            id_type = in_utc(self.columns["id"].travelling_type)
            self.columns["id"].check_no_collation("the id")
        key_types = tuple(map(_key_type, self.keys))

        columns, identities = self._projected_columns()
        df, rows = self.reader.project(self.request, columns, identities, scale)
        return Projection(
            df=df,
            times=self.columns["start"].travelling_type,
            keys=key_types,
            inputs=tuple(carried_column.type for carried_column in self.inputs.carried),
            has_changes="change" in rows.columns,
            rows=rows,
            id=id_type,
        )

    def _projected_columns(self) -> tuple[dict[str, ColumnLike], dict[str, str]]:
        """Return two mappings by projected name: the columns that the query reads, and the identities of some of them.

        Columns of equal identities are the same column, so that several queries of one pass can share them. A column
        has an identity if it is text.
        """
        request = self.request
        columns: dict[str, ColumnLike] = {}
        identities: dict[str, str] = {}
        for name, column in request.named_columns.items():
            is_text = name in _TEXTS  # such as the column of changes, whatever its type is in the input
            columns[name] = self.reader.as_text(request.df, column) if is_text else column
            if isinstance(column, str):
                identity = text_identity(column)
                identities[name] = f"{identity} as text" if is_text else identity  # a cast column is another one

        # The names are those of `Projection.df`, by which the map task reads the columns. Computed columns and column
        # objects of a backend get no identity: whether two of them are the same cannot be told.
        for length in request.length_columns:
            columns[length.name] = length.name
        if request.conditions:
            columns["kept"] = self.reader.conjunction(request.conditions)
        for place, carried_column in enumerate(self.inputs.carried):
            columns[f"i{place}"] = carried_column.column
        for place, column_name in self.inputs.names.items():
            identities[f"i{place}"] = column_name
        return columns, identities


def _named(column: InputColumn) -> NamedColumn:
    return NamedColumn(column.name, column.spelled_type)


def _key_type(key: InputColumn) -> pa.DataType:
    """Return the Arrow type in which a key travels.

    Raises:
        QueryError: Its type cannot be the key of a shuffle, or has a collation.
    """
    if "map<" in key.spelled_type:
        # Spark groups by maps, but gives no hash of one, by which keys are spread over buckets.
        entries = "array_sort(map_entries(...)) in the place of the map"
        if pa.types.is_map(key.type):
            entries = f"key='array_sort(map_entries({key.name}))'"
        raise QueryError(
            f"the key {key.name} holds a map, and Spark gives no hash of maps, by which keys are spread over buckets\n"
            f"  make a key of its sorted entries, which are equal where maps are: {entries}"
        )
    key.check_no_collation("the key")
    return key.travelling_type
