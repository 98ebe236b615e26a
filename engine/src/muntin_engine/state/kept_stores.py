"""Decoded state that a process keeps between micro-batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, NamedTuple

MOST_BYTES: Final = 256 * 2**20
"""Bytes that are kept, over all queries of a process, unless a session says otherwise."""

IDLE_SECONDS: Final = 120.0
"""A store not used for so long is forgotten: its query has ended, or runs so seldom that reading it anew is little."""

_LEAST: Final = 2048
"""Memory that a store takes besides its data."""


class _Kept(NamedTuple):
    version: bytes
    store: Any
    size: int
    used: float


class KeptStores:
    """The stores of buckets, each under the version of the state that it equals.

    A process may run any partition of any batch of any query, and a batch may fail after its buckets were evaluated;
    so a store is only ever handed out for the version that the state store itself holds. Whoever takes it out owns it,
    and puts it back under its next version; if that fails in between, the store is gone and is read anew.

    They are bounded by their bytes, as these lie in memory, roughly. What is too much of others goes first, the longest
    unused before; a query whose own stores are too much keeps some of them, and reads the rest anew in each batch.

    Attributes:
        most: How many bytes are kept.
    """

    def __init__(self, most: int = MOST_BYTES, clock: Callable[[], float] = monotonic) -> None:
        self.most = most
        self._clock = clock
        self._bytes = 0
        self._stores: OrderedDict[Hashable, _Kept] = OrderedDict()

    @property
    def held_bytes(self) -> int:
        """The size of the kept stores."""
        return self._bytes

    def take(self, bucket: Hashable, version: bytes) -> Any | None:
        """Take the store of a bucket out; None unless it is of this version."""
        kept = self._drop(bucket) if bucket in self._stores else None
        if kept is not None and version and kept.version == version:
            return kept.store
        for name in [name for name, other in self._stores.items() if version and other.version == version]:
            self._drop(name)  # versions are never used twice: a query was stopped, and this one goes on from its state
        return None

    def put(self, bucket: Hashable, version: bytes, store: object, size: int = 0) -> bool:
        """Keep a store of some bytes; return False if there is no room for it beside the others of its query.

        Args:
            bucket: Names the bucket. Of a tuple, the first part names the query.
            version: The version of the state that the store equals.
            store: The store.
            size: How many bytes its data take.
        """
        self._forget_idle()
        if bucket in self._stores:
            self._drop(bucket)
        size += _LEAST
        own = sum(kept.size for name, kept in self._stores.items() if _query(name) == _query(bucket))
        if own + size > self.most:
            return False
        for name in [name for name in self._stores if _query(name) != _query(bucket)]:
            if self._bytes + size <= self.most:
                break
            self._drop(name)
        self._stores[bucket] = _Kept(version, store, size, self._clock())
        self._bytes += size
        return True

    def _forget_idle(self) -> None:
        """Drop what was not used for long; the first ones are those."""
        oldest = self._clock() - IDLE_SECONDS
        while self._stores and next(iter(self._stores.values())).used < oldest:
            self._drop(next(iter(self._stores)))

    def _drop(self, bucket: Hashable) -> _Kept:
        kept = self._stores.pop(bucket)
        self._bytes -= kept.size
        return kept


def _query(bucket: Hashable) -> Hashable:
    return bucket[0] if isinstance(bucket, tuple) else bucket


KEPT: Final = KeptStores()
"""The stores that this process keeps between micro-batches."""
