"""Reading the state of a bucket in a checkpoint, without the query that wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from muntin import INFINITY, Window
from muntin_engine.state.bucket_state import BucketMetadata, query_and_progress
from muntin_engine.state.cells import METADATA, Cells, CheckedCells, damaged, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.log import LogEntry, StateLog
from muntin_engine.state.schema_versions import SchemaVersion
from muntin_engine.time.changes import InputChange, Key

NamedInput: TypeAlias = tuple[str | None, QueryIdentity]
"""The name of an input, None for a single one, and its properties."""


class StateRow(NamedTuple):
    """A part of the state: an event, a row that waits, the state of a module, or a result that may change.

    Attributes:
        kind: `event`, `waiting`, `result`, `trigger`, or the part of the axis that a module's state is of: `window`,
            `slice`, `slices`, `session`, `partition` or `key`.
        key: The key.
        start: The start of the event, the window or the slice, in ticks; `EARLIEST` if it has none.
        end: The end; `INFINITY` if it has none.
        value: The payload of an event by column, the state of a module, or the values of a result.
        id: The id of the event, where events have ids.
        module: The module whose state it is, with its columns; None where it is of no module.
        version: The version of the module that wrote it.
        events: The number of events in it, where that is known.
        input: The name of the input, where a query has several.
        partition: The partition, of row windows.
        batch: The micro-batch that last wrote it.
    """

    kind: str
    key: Key
    start: int
    end: int
    value: Any
    id: Any = None
    module: str | None = None
    version: str | None = None
    events: int | None = None
    input: str | None = None
    partition: Any = None
    batch: int | None = None


class DatedEntry(NamedTuple):
    """A log entry, and when it was written.

    Attributes:
        entry: The log entry, with the schema version that wrote it.
        batch: The micro-batch that wrote it, alone or merged with earlier ones.
    """

    entry: LogEntry
    batch: int

    @property
    def version(self) -> SchemaVersion:
        """The schema version that wrote it."""
        assert self.entry.schema_version is not None, "the reader of a bucket fills it in"
        return self.entry.schema_version


class BucketReader:
    """Reads the state of a bucket: its metadata and its log entries, still as bytes.

    Attributes:
        identity: The query that wrote it.
        progress: The data of the progress of its inputs, as `InputsProgress.from_data` takes it.
        versions: The schema versions that its log entries may be of, the present one last.
        entries: The log entries.
        keys: The number of its keys, where each key has its own state.
        cells: All cells, whose checksums are compared when they are read.
        codec: The codec of values; records of any class come as dicts of their fields.
    """

    def __init__(self, cells: Cells, owner: str = "") -> None:
        """Read the metadata and the log of a bucket.

        Args:
            cells: The cells of the bucket, as they were written.
            owner: The bucket that they belong to, for errors.

        Raises:
            StateError: The cells are damaged, or another version of Muntin wrote them.
        """
        # Records come as dicts of their fields: the program that reads a state may not have their classes.
        self.codec = Codec(reads_fields=True)
        self.cells = CheckedCells(cells, owner)
        data = self.cells.get(METADATA)
        if data is None:
            raise damaged(METADATA, "it is empty", owner)
        # The identity that the metadata are compared with is their own: so nothing differs.
        self.identity: QueryIdentity = query_and_progress(data, self.codec).identity
        metadata = BucketMetadata.from_bytes(data, Compatibility(self.identity), self.codec)
        self.progress: Sequence[Any] = metadata.progress
        self.versions = metadata.schema_versions
        self.keys = metadata.held.keys

        # The log checks the cells of its entries. Here they are read once more, still sealed: the seal says which
        # micro-batch wrote them.
        # An entry of the present schema version does not name it.
        present_version = self.versions[-1]
        log = StateLog(self.cells, metadata.log, self.versions)
        self.entries: list[DatedEntry] = []
        for entry, name in zip(log.read(), log.names, strict=True):
            schema_version = entry.schema_version or present_version
            sealed_entry = cells.get(name) or b""  # empty only if the cell went away since `log.read`
            origin = unseal(name, sealed_entry, owner).origin
            self.entries.append(DatedEntry(entry._replace(schema_version=schema_version), origin.batch))

    @property
    def inputs(self) -> Sequence[NamedInput]:
        """The name and the properties of each input; a single one has no name."""
        several = self.identity.get("several")
        if not several:
            return [(None, self.identity)]
        return [(name, properties) for name, properties in several]

    def module(self, place: int, version: SchemaVersion) -> tuple[str, str]:
        """Return two texts: a module with the columns that it reads and its parameters, and its version.

        Args:
            place: The place of the module among those of the schema version.
            version: The schema version.
        """
        name, parameters, columns, *_ = version.modules[place]  # as `bound_modules` describes it
        arguments = [str(column[0]) for column in columns]
        arguments += [f"{parameter}={value}" for parameter, value in parameters.items()]
        return f"{name}({', '.join(arguments)})", version.versions[place]

    def state(self, place: int, version: SchemaVersion, state: Any) -> tuple[Any, int | None]:
        """Return a module's state, and the number of its rows; None if the state does not count them.

        Args:
            place: The place of the module among those of the schema version.
            version: The schema version that wrote the state.
            state: The state as it is stored.
        """
        _name, _parameters, _columns, *extras = version.modules[place]
        has_count = "counted" in extras
        if state is None or not has_count:
            return state, None
        count, inner_state = state
        return inner_state, int(count)


class ModuleState(NamedTuple):
    """The state of a module as it lies in a checkpoint.

    Attributes:
        place: The place of the module among those of the schema version.
        version: The schema version that wrote it.
        state: The state; records as dicts of their fields.
    """

    place: int
    version: SchemaVersion
    state: Any


class StateReader:
    """Reads the states of modules, as a `StateSerializer` does, and upgrades nothing."""

    def __init__(self, bucket: BucketReader) -> None:
        """Read states of a bucket."""
        self._bucket = bucket
        self.schema_version = len(bucket.versions) - 1

    def unpack(
        self, packed: Sequence[bytes], schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[list[ModuleState]]:
        """Return the states of each window; modules that have none for a window are left out.

        Args:
            packed: For each module its states of all windows, as bytes.
            schema_version: The number of the schema version that wrote them.
            key: The key of the windows, which no error names here.
            windows: The windows.
        """
        del key
        version = self._bucket.versions[schema_version]
        states_by_window = [list[ModuleState]() for _ in windows]
        for place, data in enumerate(packed):
            for states, state in zip(states_by_window, self._bucket.codec.unpack(data), strict=True):
                if state is not None:
                    states.append(ModuleState(place, version, state))
        return states_by_window

    def rows(self, row: StateRow, states: Sequence[ModuleState]) -> Iterator[StateRow]:
        """Yield a row for each state of a module.

        Args:
            row: The row without module and state: the key, and the part of the axis that the states are of.
            states: The states.
        """
        for place, version, state in states:
            module, module_version = self._bucket.module(place, version)
            value, count = self._bucket.state(place, version, state)
            events = row.events if count is None else count
            yield row._replace(value=value, module=module, version=module_version, events=events)


def waiting_row(input_identity: QueryIdentity, row: InputChange) -> StateRow:
    """Describe a row that waits for others of its event; the value of a revision is the end it expects and the new one.

    Args:
        input_identity: The properties of the input.
        row: The row.
    """
    value: dict[str, Any] = payload_of(input_identity, row.payload)
    if row.new_end is not None:
        value = {"end": row.end, "new_end": row.new_end}
    end = INFINITY if row.end is None else row.end
    return StateRow("waiting", key=(), start=row.start, end=end, value=value, id=row.id)


def payload_of(input_identity: QueryIdentity, values: Sequence[Any]) -> dict[str, Any]:
    """Return the payload of an event by the names of its columns, without values that evaluators add to it."""
    names = [name for name, _ in input_identity["inputs"]]
    return dict(zip(names, values, strict=False))
