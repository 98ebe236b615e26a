"""The state of a bucket as a checkpoint has it, for readers that have not the query that wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from muntin import INFINITY, Window
from muntin_engine.state.bucket_state import BucketMetadata, query_of
from muntin_engine.state.cells import METADATA, Cells, CheckedCells, damaged, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.log import StateLog, StoredEntry
from muntin_engine.state.schema_versions import SchemaVersion
from muntin_engine.time.changes import InputChange, Key

NamedInput: TypeAlias = tuple[str | None, QueryIdentity]
"""The name of an input, None for a single one, and its properties."""


class HeldRow(NamedTuple):
    """A part of the state: an event, a row that waits, what a module keeps of a window, or a result that may change.

    Attributes:
        kind: `event`, `waiting`, `result`, `trigger`, or what a module's state is of: `window`, `slice`, `slices`,
            `session`, `partition` or `key`.
        key: The key.
        start: The start of the event, the window or the slice, in ticks; `EARLIEST` if it has none.
        end: The end; `INFINITY` if it has none.
        value: The payload of an event by column, the state of a module, or the values of a result.
        id: The id of the event, where events have ids.
        module: The module that keeps it, with its columns; None where no module does.
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


class StoredPart(NamedTuple):
    """An entry of the log.

    Attributes:
        entry: The entry, with the schema version that wrote it.
        batch: The micro-batch that wrote it, alone or merged with earlier ones.
    """

    entry: StoredEntry
    batch: int

    @property
    def version(self) -> SchemaVersion:
        """The schema version that wrote it."""
        assert self.entry.schema_version is not None, "a reader of stored buckets fills it in"
        return self.entry.schema_version


class StoredBucket:
    """The state of one bucket.

    Attributes:
        identity: The query that wrote it.
        tracked: The data of the progress of its inputs.
        versions: The schema versions that its parts may be of, the present one last.
        parts: The entries of its log.
        keys: The number of its keys, where each key has its own state.
        cells: All cells, whose checksums are compared when they are read.
        codec: Reads values; records of any class come as dicts of their fields.
    """

    def __init__(self, cells: Cells, owner: str = "") -> None:
        """Read the metadata and the log of a bucket.

        Args:
            cells: Its cells, as they were written.
            owner: Whose they are, for errors.

        Raises:
            StateError: They are damaged, or another version of Muntin wrote them.
        """
        self.codec, self.cells = Codec(reads_fields=True), CheckedCells(cells, owner)
        data = self.cells.get(METADATA)
        if data is None:
            raise damaged(METADATA, "it is empty", owner)
        self.identity: QueryIdentity = query_of(data, self.codec)[0]
        metadata = BucketMetadata.from_bytes(data, Compatibility(self.identity), self.codec)
        self.tracked: Sequence[Any] = metadata.tracked
        self.versions, self.keys = metadata.schema_versions, metadata.held.keys
        log = StateLog(self.cells, metadata.log, self.versions)
        entries = log.read()
        origins = [unseal(name, cells.get(name) or b"", owner).origin for name in log.names]
        present = self.versions[-1]
        self.parts = [
            StoredPart(entry._replace(schema_version=entry.schema_version or present), origin.batch)
            for entry, origin in zip(entries, origins, strict=True)
        ]

    @property
    def inputs(self) -> Sequence[NamedInput]:
        """The name and the properties of each input; a single one has no name."""
        several = self.identity.get("several")
        return [(name, given) for name, given in several] if several else [(None, self.identity)]

    def module(self, place: int, version: SchemaVersion) -> tuple[str, str]:
        """Return a module of the query, with the columns that it reads, and its version.

        Args:
            place: Its place among the modules of the schema version.
            version: That schema version.
        """
        name, parameters, columns, *_ = version.modules[place]
        read = [str(column[0]) for column in columns]
        read += [f"{parameter}={value}" for parameter, value in parameters.items()]
        return f"{name}({', '.join(read)})", version.versions[place]

    def state(self, place: int, version: SchemaVersion, state: Any) -> tuple[Any, int | None]:
        """Return a module's state, and the number of its rows where that is kept beside it."""
        has_count = "counted" in version.modules[place][3:]
        return (state[1], int(state[0])) if has_count and state is not None else (state, None)


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


class StoredStates:
    """Reads the states of modules, as a `StateSerializer` does, and upgrades nothing."""

    def __init__(self, stored: StoredBucket) -> None:
        self._stored = stored
        self.schema_version = len(stored.versions) - 1

    def unpack(
        self, packed: Sequence[bytes], schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[list[ModuleState]]:
        """Return the states of windows, those that are there for each."""
        del key
        version, found = self._stored.versions[schema_version], [list[ModuleState]() for _ in windows]
        for place, data in enumerate(packed):
            for states, state in zip(found, self._stored.codec.unpack(data), strict=True):
                if state is not None:
                    states.append(ModuleState(place, version, state))
        return found

    def rows(self, row: HeldRow, states: Sequence[ModuleState]) -> Iterator[HeldRow]:
        """Yield a row for each of some states of modules, given what they are of."""
        for place, version, state in states:
            module, number = self._stored.module(place, version)
            value, counted = self._stored.state(place, version, state)
            yield row._replace(
                value=value, module=module, version=number, events=row.events if counted is None else counted
            )


def waiting_row(given: QueryIdentity, row: InputChange) -> HeldRow:
    """Return a row that waits for others of its event; a revision has the end that it expects, and the new one."""
    value = payload_of(given, row.payload) if row.new_end is None else {"end": row.end, "new_end": row.new_end}
    return HeldRow("waiting", (), row.start, INFINITY if row.end is None else row.end, value, id=row.id)


def payload_of(given: QueryIdentity, values: Sequence[Any]) -> dict[str, Any]:
    """Return the payload of an event by the names of its columns; what evaluators add to it is left out."""
    return dict(zip((name for name, _ in given["inputs"]), values, strict=False))
