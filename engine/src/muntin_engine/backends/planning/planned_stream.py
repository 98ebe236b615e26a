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
from muntin_engine.backends.planning.read_columns import ReadColumns, check_order, orders_by_name
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
        reader: What looks its columns up, and projects them.
        request: The stream, as the query writer describes it.
        fields: The columns that it names, by the names under which they travel.
        tested: The conditions on its insertions.
        inputs: The columns that modules read.
    """

    reader: ColumnReader
    request: InputRequest
    fields: Mapping[str, InputColumn]
    tested: Sequence[InputColumn]
    inputs: ReadColumns

    @classmethod
    def of(cls, reader: ColumnReader, request: InputRequest) -> PlannedStream:
        """Look up the columns of a stream of which no module has read anything yet.

        Raises:
            QueryError: A column is missing.
        """
        conditions = {f"where {place}": condition for place, condition in enumerate(request.conditions)}
        words = dict.fromkeys((f"k{place}" for place, _ in enumerate(request.keys)), "key")
        if request.end is None:
            words["start"] = "at"
        words |= dict.fromkeys(conditions, "where")
        fields = reader.look_up(request.df, {**request.named_columns, **conditions}, words)
        tested = [fields.pop(name) for name in conditions]
        return cls(reader, request, fields, tested, ReadColumns(reader, request.df))

    @cached_property
    def axis(self) -> Axis:
        """The axis of its times."""
        times = [self.fields[name] for name in ("start", "end", "new_end") if name in self.fields]
        axes = {part.axis for part in times}
        spelled_types = {part.spelled_type for part in times}
        has_several_scales = len({part.places for part in times}) > 1
        if len(axes) > 1 or has_several_scales or (len(spelled_types) > 1 and Axis.TIME in axes):
            named = ", ".join(f"{part.name} {part.spelled_type}" for part in times)
            raise QueryError(f"the times of a query must be of one type, got {named}")
        return axes.pop()

    @property
    def places(self) -> int | None:
        """The decimal places of its times, if these are decimals."""
        return self.fields["start"].places

    @property
    def keys(self) -> list[InputColumn]:
        """The columns that it is grouped by."""
        return [self.fields[f"k{place}"] for place, _ in enumerate(self.request.keys)]

    @property
    def spelled_times(self) -> str:
        """The type of its times, and their unit if they have one."""
        unit = "" if self.request.unit is None else f" in {self.request.unit}"
        return f"{self.fields['start'].spelled_type}{unit}"

    def order(self) -> list[int]:
        """Return the places of the columns that order its rows, as further inputs; the first one decides first.

        Raises:
            PolicyError: A column has no order.
        """
        places: list[int] = []
        for name, column in orders_by_name(self.request.order).items():
            if column is None:
                continue
            (part,) = self.reader.look_up(self.request.df, {name: column}, {}).values()
            check_order(part)
            places.append(self.inputs.place(column, part, part.read_as_is()))
        return places

    def input_plan(self, scale: AxisScale, order: Sequence[int] = ()) -> Input:
        """Return its part of the plan, once all modules have their columns, and its order places among them.

        Raises:
            QueryError: It has integer times, and sources that follow a clock; or lengths that are not like its times.
        """
        request = self.request
        idle = request.progress.idle
        has_timestamps = scale.unit is None and scale.places is None
        if not has_timestamps and idle is not None and idle.lag is not None:
            raise QueryError(
                "a source that is idle follows a clock, and integer or decimal times do not\n"
                "  give {events} timestamps, for example {example}, or leave the lag out",
                events=Call("events"),
                example=WrittenExpression("timestamp_millis({})", "at"),
            )
        self._check_lengths()
        columns = Columns(
            **{name: _named(self.fields[name]) for name in ROLES if name in self.fields},
            keys=tuple(map(_named, self.keys)),
            payload=tuple(map(_named, self.inputs.fields)),
            conditions=tuple(map(_named, self.tested)),
            ranges={name: _named(self.fields[name]) for name in request.ranges},
        )
        policies = InputPolicies(**{name: getattr(request, name) for name in POLICIES})
        return Input(
            columns,
            len(request.heartbeats),
            has_clock=request.clock is not None,
            order=order[0] if order else None,
            then_by=tuple(order[1:]),
            is_chained=bool(request.inner) and not request.rules,
            **vars(scale.resolve(policies)),
        )

    def _check_lengths(self) -> None:
        """Refuse columns of lengths that are not like the times.

        Raises:
            QueryError: One is not.
        """
        lengths = self.request.length_columns
        columns = {length.name: length.name for length in lengths}
        for length, part in zip(lengths, self.reader.look_up(self.request.df, columns, {}).values(), strict=True):
            if self.axis is Axis.TIME:
                fits = part.kind is ScalarKind.INTERVAL
                wanted = "an interval: expression(\"minutes * INTERVAL '1' MINUTE\")"
            elif self.places is not None:
                fits = part.places == self.places
                wanted = f"of {self.places} places, as the times: cast it"
            else:
                fits = part.kind is ScalarKind.INTEGER
                wanted = "of whole numbers, as the times"
            if not fits:
                times = self.fields["start"].spelled_type
                raise QueryError(
                    f"the length {length.text} is {part.spelled_type}, and times are {times}\n"
                    f"  expected: a column that is {wanted}"
                )

    def projection(self, scale: AxisScale) -> Projection:
        """Return its columns that the query reads, with the rows of heartbeats and clocks among its own.

        Raises:
            QueryError: A key or an id is of a type that cannot travel.
        """
        id_type = None
        if "id" in self.fields:
            id_type = in_utc(self.fields["id"].travelling_type)
            self.fields["id"].check_no_collation("the id")
        key_types = tuple(map(_key_type, self.keys))

        columns, identities = self._projected_columns()
        df, rows = self.reader.project(self.request, columns, identities, scale)
        return Projection(
            df=df,
            times=self.fields["start"].travelling_type,
            keys=key_types,
            inputs=tuple(self.inputs.types),
            has_changes="change" in rows.columns,
            rows=rows,
            id=id_type,
        )

    def _projected_columns(self) -> tuple[dict[str, ColumnLike], dict[str, str]]:
        """Return the columns that a query reads, by their names, and what identifies those that only name a column."""
        request = self.request
        named_columns = request.named_columns
        columns = dict(named_columns)
        for name in _TEXTS:
            if name in columns:
                columns[name] = self.reader.as_text(request.df, columns[name])
        for length in request.length_columns:
            columns[length.name] = length.name
        if request.conditions:
            columns["kept"] = self.reader.conjunction(request.conditions)
        for place, column in enumerate(self.inputs.columns):
            columns[f"i{place}"] = column

        named_columns |= {f"i{place}": name for place, name in self.inputs.names.items()}
        identities: dict[str, str] = {}
        for name, column in named_columns.items():
            if isinstance(column, str):
                identities[name] = f"{column} as text" if name in _TEXTS else column
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
