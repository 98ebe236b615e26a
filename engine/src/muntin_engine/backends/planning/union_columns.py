"""The columns that the streams of a union have in common, and those of each, for inputs of any backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.errors import QueryError
from muntin.errors.messages import Earlier
from muntin_engine.backends.planning.read_columns import orders_by_name
from muntin_engine.plan.request import ROLES, backquoted
from muntin_engine.time.source_rules import SourceRules

if TYPE_CHECKING:
    from muntin_engine.backends.planning.column_reader import ColumnReader
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import InputRequest


@dataclass(frozen=True)
class UnionColumns:
    """The columns of a union that make its rows events.

    Attributes:
        keys: The names of the keys, those of the first stream.
        shared: The names, in the union, of the other columns that any of the streams has, such as `start`.
        orders: The names of those among the shared columns that order rows of one time; the first one decides first.
        condition: The name of the column that says whether a row meets the conditions of its stream; empty if there
            are none.
    """

    keys: Sequence[str]
    shared: frozenset[str]
    orders: Sequence[str]
    condition: str

    @classmethod
    def of(cls, reader: ColumnReader, streams: Mapping[str, InputRequest]) -> UnionColumns:
        """Find the columns that make the rows of a union events.

        Args:
            reader: The reader of the columns of the streams' backend.
            streams: The streams, by name.

        Raises:
            QueryError: The first stream does not have a key.
        """
        first_stream = next(iter(streams.values()))  # its keys name those of all streams
        key_columns = reader.look_up(first_stream.df, keys_of_stream(first_stream), readers={})
        keys = [key.name for key in key_columns.values()]
        shared = {"change", "source", "end"}  # the union computes these for streams that do not have them
        for stream in streams.values():
            shared |= {name for name, column in event_columns(stream).items() if column is not None}
        orders = [name for name in shared if name.startswith("order")]
        orders.sort(key=lambda name: (len(name), name))  # "order 10" comes after "order 9"
        return cls(keys, frozenset(shared), orders, _condition_name(streams))

    @property
    def names_of_one_type(self) -> list[str]:
        """The names of the columns that are of one type in all streams."""
        return [*self.keys, *self.orders, *(name for name in ROLES if name in self.shared)]

    def check_types(self, column: str, types: Mapping[str, str | None]) -> None:
        """Refuse streams in which a column is of different types.

        Args:
            column: The name of the column.
            types: The type of the column in each stream, as the backend spells it; None where the column is only nulls.

        Raises:
            QueryError: The types differ.
        """
        if len({name for name in types.values() if name is not None}) > 1:
            spelled = ", ".join(f"{stream} {name or 'void'}" for stream, name in types.items())
            raise QueryError(f"the {column} of the streams of a union is of one type, got {spelled}\n  cast them")

    def look_up(self, reader: ColumnReader, stream: InputRequest) -> dict[str, InputColumn]:
        """Look up the columns that make the rows of a stream events.

        Raises:
            QueryError: A column is missing.
        """
        return reader.look_up(stream.df, {**event_columns(stream), **keys_of_stream(stream)}, {})

    def payload(
        self, stream_name: str, all_names: Sequence[str], names_in_union: Sequence[str], names_in_stream: Sequence[str]
    ) -> list[str]:
        """Return the names of the payload columns of a stream: all that do not make its rows events.

        Args:
            stream_name: The name of the stream.
            all_names: The names of all columns of the stream.
            names_in_union: The names that its event columns have in the union, such as `start`.
            names_in_stream: The names that the same columns have in the stream itself, such as `at`.

        Raises:
            QueryError: A payload column has a name that the union gives to an event column.
        """
        taken_names = {name.casefold() for name in (*names_in_union, *self.shared)}
        payload: list[str] = []
        for name in all_names:
            if name.casefold() not in taken_names:
                payload.append(name)
            elif name not in names_in_stream:  # an event column that is named as in the union is there already
                raise QueryError(
                    "{stream} has a column {value}, which is a name of the union's own\n"
                    "  rename it {before_events}, for example to {value}_",
                    value=name,
                    stream=stream_name,
                    before_events=Earlier("events"),
                )
        return payload

    def columns_of_events(self, conditions: tuple[Any, ...]) -> dict[str, Any]:
        """Return the columns that make the rows of the union events, by the attributes of `InputRequest`.

        Args:
            conditions: The condition of the union as a column; empty if it has none.
        """
        columns: dict[str, Any] = dict.fromkeys(ROLES)
        for role in ROLES:
            if role in self.shared:
                columns[role] = role  # the union names its columns by their roles
        columns["keys"] = tuple(map(backquoted, self.keys))
        columns["conditions"] = conditions
        columns["order"] = None
        orders = tuple(map(backquoted, self.orders))  # `order 2` is no name without backquotes
        if orders:
            columns["order"] = orders if len(orders) > 1 else orders[0]  # `events` takes a single column by itself
        return columns


def event_columns(stream: InputRequest) -> dict[str, Any]:
    """Return the columns that make the rows of a stream events, by the names that they have in the union."""
    columns: dict[str, Any] = {role: getattr(stream, role) for role in ROLES}
    return columns | orders_by_name(stream.order)


def keys_of_stream(stream: InputRequest) -> dict[str, Any]:
    """Return the keys of a stream, by names of their places."""
    return {f"key {place}": key for place, key in enumerate(stream.keys)}


def sources_of(name: str, stream: InputRequest) -> list[str]:
    """Return the sources that a union has from one of its streams: the stream itself, or each source within the stream.

    Args:
        name: The name of the stream.
        stream: The stream.
    """
    return [f"{name}.{source}" for source in stream.sources] or [name]


def source_rules(streams: Mapping[str, InputRequest]) -> Iterator[SourceRules]:
    """Yield the progress policy and the changes of lifetimes of each source of a union."""
    for name, stream in streams.items():
        for source in sources_of(name, stream):
            yield SourceRules(source, stream.progress, stream.lifetime_changes, stream.new_end is not None)


def _condition_name(streams: Mapping[str, InputRequest]) -> str:
    """Return the conditions of all streams in words, as the name of a column; empty if there are none."""
    spelled: list[str] = []
    for name, stream in streams.items():
        if stream.conditions:
            # A column object of Spark's is spelled `Column<'km > 2'>`.
            texts = [str(condition).removeprefix("Column<'").removesuffix("'>") for condition in stream.conditions]
            spelled.append(f"{name}: {' and '.join(texts)}")
    return "; ".join(spelled).replace("`", "")  # so that backquotes around the name need no others within it
