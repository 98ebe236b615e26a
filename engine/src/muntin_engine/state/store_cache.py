"""The cache: stores of buckets, decoded, that a process keeps between micro-batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, NamedTuple

CACHE_BYTES: Final = 256 * 2**20
"""The bytes of the cache, over all queries of a process, unless a session says otherwise."""

IDLE_SECONDS: Final = 120.0
"""A store not used for so long is dropped: its query has ended, or runs so seldom that reading it anew is little."""

_OVERHEAD: Final = 2048
"""Memory that a store takes besides its data."""


class _CachedStore(NamedTuple):
    """A store in the cache.

    Attributes:
        version: The version of the state that the store equals.
        store: The store.
        size: The bytes that count for it.
        last_used: The reading of the clock when it was put into the cache.
    """

    version: bytes
    store: Any
    size: int
    last_used: float


class StoreCache:
    """The stores of buckets, each under the version of the state that it equals.

    A process may run any partition of any batch of any query, and a batch may fail after its buckets were evaluated. So
    a store is handed out only for the version that the state itself has. A caller that takes a store out owns it, and
    puts it back under its next version; if the caller fails in between, the store is gone and is read anew.

    The cache is bounded by the bytes of its stores, roughly as they lie in memory. Where there is no room, stores of
    other queries are dropped first, beginning with the longest unused. A query whose own stores need more room than
    there is has some of them in the cache, and reads the others anew in each batch.

    Attributes:
        most: The bytes for which there is room.
    """

    def __init__(self, most: int = CACHE_BYTES, clock: Callable[[], float] = monotonic) -> None:
        """Hold no stores."""
        self.most = most
        self._clock = clock
        self._bytes = 0
        self._stores: OrderedDict[Hashable, _CachedStore] = OrderedDict()  # the longest unused first

    @property
    def held_bytes(self) -> int:
        """The size of all stores."""
        return self._bytes

    def take(self, bucket: Hashable, version: bytes) -> Any | None:
        """Take the store of a bucket out of the cache; return None if there is none that equals the state.

        Args:
            bucket: The name of the bucket.
            version: The version of the state; empty if no store ever equalled it.
        """
        if bucket in self._stores:
            cached = self._drop(bucket)
            if version and cached.version == version:
                return cached.store
        if version:
            # The same state may be in the cache under another name: a query was stopped, and this one goes on from its
            # state. Nobody takes that store out any more.
            for name, cached in list(self._stores.items()):
                if cached.version == version:
                    self._drop(name)
        return None

    def put(self, bucket: Hashable, version: bytes, store: object, size: int = 0) -> bool:
        """Add a store; return False if there is no room for it beside the others of its query.

        Args:
            bucket: The name of the bucket. Of a tuple, the first part names the query.
            version: The version of the state that the store equals.
            store: The store.
            size: The bytes of its data.
        """
        self._drop_idle()
        if bucket in self._stores:
            self._drop(bucket)
        if size > self.room(bucket):
            return False
        size += _OVERHEAD

        # The stores of other queries make room, the longest unused first.
        query = _query_of(bucket)
        for name in list(self._stores):
            if self._bytes + size <= self.most:
                break
            if _query_of(name) != query:
                self._drop(name)
        self._stores[bucket] = _CachedStore(version, store, size, self._clock())
        self._bytes += size
        return True

    def room(self, bucket: Hashable) -> int:
        """Return the bytes of data for which there is room beside the other stores of the query; negative for none."""
        query = _query_of(bucket)
        room = self.most - _OVERHEAD
        for name, cached in self._stores.items():
            if name != bucket and _query_of(name) == query:
                room -= cached.size
        return room

    def _drop_idle(self) -> None:
        """Drop the stores that were not used for long."""
        oldest = self._clock() - IDLE_SECONDS
        while self._stores:
            name, longest_unused = next(iter(self._stores.items()))
            if longest_unused.last_used >= oldest:
                return
            self._drop(name)

    def _drop(self, bucket: Hashable) -> _CachedStore:
        """Take the store of a bucket out of the cache, and return it."""
        cached = self._stores.pop(bucket)
        self._bytes -= cached.size
        return cached


def _query_of(bucket: Hashable) -> Hashable:
    """Return the name of the query of a bucket."""
    return bucket[0] if isinstance(bucket, tuple) else bucket


STORE_CACHE: Final = StoreCache()
"""The cache of this process."""
