"""A bucket of keys: one micro-batch of changes in, the net change of the output out.

State lives in cells. Keys are spread over *shelves*, one cell each; in a shelf every key is a run of bytes of its
own, so a batch reads the shelves of the keys it touches and of those that have something to close, and decodes
those keys alone. The ledger, one more cell, says how far the input is and when which shelf is due.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from muntin import EARLIEST, EmitPolicy
from muntin_engine.core.admission import Admission
from muntin_engine.core.cells import Cells
from muntin_engine.core.changes import InputChange, OutputChange, Progress, Refusal
from muntin_engine.core.codec import Codec
from muntin_engine.core.final import FinalEvaluator
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.ledger import NEVER, Due, Ledger, earliest
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.retirement import closing_due, output_bound, output_due
from muntin_engine.core.speculative import SpeculativeEvaluator

SHELVES: Final = 64
"""How many cells the keys of a bucket are spread over. Part of the layout of a checkpoint."""

_LEDGER: Final = "ledger"

Key = tuple[Any, ...]


@dataclass(slots=True)
class BatchResult:
    """What a bucket made of a batch.

    Attributes:
        output: The changes of the output, key by key.
        refusals: The rows that were set aside, key by key.
        progress: How far the input is now.
        punctuation: No later output of this bucket has a sync time below it.
        accepted: How many rows were taken in.
    """

    output: list[tuple[Key, list[OutputChange]]] = field(default_factory=list)
    refusals: list[tuple[Key, Refusal]] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    punctuation: int = EARLIEST
    accepted: int = 0


class Bucket:
    """Evaluates a query for many keys.

    Cost: reading and writing the ledger, plus for each shelf touched reading and writing its bytes, plus for each key
    touched decoding, evaluating and encoding it. Keys that are not touched and have nothing to close cost nothing but
    the bytes of their shelf.
    """

    def __init__(self, query: WindowedQuery, cells: Cells, codec: Codec, identity: Mapping[str, Any]) -> None:
        self._query = query
        self._cells = cells
        self._codec = codec
        self._identity = {**identity, "shelves": SHELVES}
        evaluator = FinalEvaluator if query.emit is EmitPolicy.FINAL else SpeculativeEvaluator
        self._evaluator: FinalEvaluator | SpeculativeEvaluator = evaluator(query)

    def process(self, changes: Iterable[tuple[Key, Sequence[InputChange]]], arrived: Progress) -> BatchResult:
        """Take in a micro-batch.

        Args:
            changes: The rows of the batch by key; each key once. Order among them means nothing.
            arrived: What the batch says of the progress of the whole input. It holds after the batch: a row of the
                batch is late only by the punctuation of earlier batches.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: The state was written by another query.
        """
        ledger = Ledger.from_bytes(self._cells.get(_LEDGER), self._identity, self._codec)
        before, now = ledger.progress, ledger.progress.advance(arrived)
        work = self._by_shelf(changes)
        for shelf, due in ledger.dues.items():
            if due.is_at(now):
                work.setdefault(shelf, {})
        result = BatchResult(progress=now)
        for shelf, keys in sorted(work.items()):
            ledger.dues[shelf] = self._process_shelf(shelf, keys, before, now, result)
            if ledger.dues[shelf] == NEVER:
                del ledger.dues[shelf]
        ledger.progress = now
        self._cells.put(_LEDGER, ledger.to_bytes(self._codec))
        default = output_bound(self._query, None, now.punctuation)
        result.punctuation = min([default, *(due.bound for due in ledger.dues.values())])
        return result

    def _by_shelf(
        self, changes: Iterable[tuple[Key, Sequence[InputChange]]]
    ) -> dict[int, dict[bytes, tuple[Key, Sequence[InputChange]]]]:
        work: dict[int, dict[bytes, tuple[Key, Sequence[InputChange]]]] = {}
        for key, rows in changes:
            name = self._codec.pack(list(key))
            work.setdefault(zlib.crc32(name) % SHELVES, {})[name] = (key, rows)
        return work

    def _process_shelf(
        self,
        shelf: int,
        keys: dict[bytes, tuple[Key, Sequence[InputChange]]],
        before: Progress,
        now: Progress,
        result: BatchResult,
    ) -> Due:
        cell = f"shelf {shelf}"
        data = self._cells.get(cell)
        stored: dict[bytes, list[Any]] = {} if data is None else self._codec.unpack(data)
        due_keys = [name for name, (due, _) in stored.items() if name not in keys and Due(*due).is_at(now)]
        for name in [*keys, *due_keys]:
            key, rows = keys.get(name) or (tuple(self._codec.unpack(name)), ())
            known = stored.pop(name, None)
            due, encoded = self._process_key(key, rows, known, before, now, result)
            if encoded is not None:
                stored[name] = [list(due), encoded]
        if stored:
            self._cells.put(cell, self._codec.pack(stored))
        elif data is not None:
            self._cells.remove(cell)
        return earliest(Due(*due) for due, _ in stored.values())

    def _process_key(
        self,
        key: Key,
        rows: Sequence[InputChange],
        known: list[Any] | None,
        before: Progress,
        now: Progress,
        result: BatchResult,
    ) -> tuple[Due, bytes | None]:
        state = KeyState(self._query) if known is None else self._restore(known[1])
        admission = Admission(state, before.punctuation, is_edge=self._query.is_edge)
        admission.admit(rows)
        admission.expire_parked(now.punctuation)
        output = self._evaluator.evaluate(key, state, admission, before, now)
        if output:
            result.output.append((key, output))
        result.refusals += [(key, refusal) for refusal in admission.refusals]
        result.accepted += len(rows) - len(admission.refusals)
        if state.is_empty:
            return NEVER, None
        return self._due(state, now), self._codec.pack(state.to_data())

    def _due(self, state: KeyState, now: Progress) -> Due:
        bound = output_bound(self._query, state, now.punctuation)
        return Due(closing_due(self._query, state), output_due(self._query, state, now), bound)

    def _restore(self, data: bytes) -> KeyState:
        return KeyState.from_data(self._query, self._codec.unpack(data))
