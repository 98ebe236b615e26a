"""The cache: stores of buckets, decoded, that a process keeps between micro-batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

CACHE_BYTES: Final = 256 * 2**20
"""The bytes of the cache, over all queries of a process, unless a session says otherwise."""

IDLE_SECONDS: Final = 120.0
"""A store not used for so long is dropped: its query has ended, or runs so seldom that reading it anew is little."""

_OVERHEAD: Final = 2048
"""Memory that a store takes besides its data."""


@runtime_checkable
class HoldsDecoded(Protocol):
    """A store that holds decoded states beside the records that they can be decoded from again."""

    def forget_decoded(self, to_free: int) -> int:
        """Drop decoded states until so many bytes are free, or no decoded state is left; return the bytes freed."""
        ...


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
    there is first drops decoded states of its stores, which costs less than to read a log anew. If that is not enough,
    it has some of its stores in the cache, and reads the others anew in each batch.

    Attributes:
        most: The bytes for which there is room.
    """

    def __init__(self, most: int = CACHE_BYTES, clock: Callable[[], float] = monotonic) -> None:
        """Hold no stores.

        Args:
            most: The bytes for which there is room.
            clock: Returns the present time in seconds, from any origin.
        """
        self.most = most
        self._clock = clock
        self._bytes_by_query: dict[Hashable, int] = {}
        self._stores: OrderedDict[Hashable, _CachedStore] = OrderedDict()  # the longest unused first

    @property
    def held_bytes(self) -> int:
        """The size of all stores."""
        return sum(self._bytes_by_query.values())

    def take(self, bucket: Hashable, version: bytes) -> Any | None:
        """Take the store of a bucket out of the cache; return None if there is none that equals the state.

        A store of the bucket that equals an older state is dropped, and so are stores of other names with this version.

        Args:
            bucket: The name of the bucket.
            version: The version of the state; empty if no store ever equalled it.
        """
        if bucket in self._stores:
            cached = self._drop(bucket)
            if version and cached.version == version:
                return cached.store
        if version:
            # The same state may be in the cache under the name of a query that was stopped, and from whose state this
            # query goes on. Nobody takes that store out any more.
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
        if bucket in self._stores:
            self._drop(bucket)
        query = _query_of(bucket)
        self._forget_decoded(query, size - self.room(bucket))
        if size > self.room(bucket):
            return False
        size += _OVERHEAD  # for which `room` has left space
        # The stores of other queries make room, the longest unused first.
        for name in list(self._stores):
            if self.held_bytes + size <= self.most:
                break
            if _query_of(name) != query:
                self._drop(name)
        self._stores[bucket] = _CachedStore(version, store, size, self._clock())
        self._count_bytes(query, size)
        return True

    def room(self, bucket: Hashable) -> int:
        """Return the bytes of data for which there is room beside the other stores of the query; negative for none."""
        self._drop_idle()
        bytes_of_query = self._bytes_by_query.get(_query_of(bucket), 0)
        own_bytes = self._stores[bucket].size if bucket in self._stores else 0
        return self.most - _OVERHEAD - (bytes_of_query - own_bytes)

    def _forget_decoded(self, query: Hashable, to_free: int) -> None:
        """Drop decoded states of a query's stores until so many bytes are free, or no decoded state is left."""
        if to_free <= 0:
            return
        for name, cached in list(self._stores.items()):
            if to_free <= 0:
                return
            if _query_of(name) == query and isinstance(cached.store, HoldsDecoded):
                freed = cached.store.forget_decoded(to_free)
                self._stores[name] = cached._replace(size=cached.size - freed)
                self._count_bytes(query, -freed)
                to_free -= freed

    def _count_bytes(self, query: Hashable, change: int) -> None:
        """Change the number of bytes that the stores of a query take; a query without stores is forgotten."""
        size = self._bytes_by_query.get(query, 0) + change
        if size:
            self._bytes_by_query[query] = size
        else:
            self._bytes_by_query.pop(query, None)

    def _drop_idle(self) -> None:
        """Drop the stores that were not used for long."""
        oldest = self._clock() - IDLE_SECONDS
        while self._stores:  # they are in the order of their last use
            name, longest_unused = next(iter(self._stores.items()))
            if longest_unused.last_used >= oldest:
                return
            self._drop(name)

    def _drop(self, bucket: Hashable) -> _CachedStore:
        """Take the store of a bucket out of the cache, and return it."""
        cached = self._stores.pop(bucket)
        self._count_bytes(_query_of(bucket), -cached.size)
        return cached


def _query_of(bucket: Hashable) -> Hashable:
    """Return the name of the query of a bucket."""
    return bucket[0] if isinstance(bucket, tuple) else bucket


STORE_CACHE: Final = StoreCache()
"""The cache of this process."""
