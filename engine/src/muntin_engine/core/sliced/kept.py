"""Decoded state that a process keeps between micro-batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final

MOST_KEPT: Final = 1024
"""How many buckets, over all queries of a process, are kept."""


class KeptStores:
    """The stores of buckets, each under the version of the state that it equals.

    A process may run any partition of any batch of any query, and a batch may fail after its buckets were evaluated;
    so a store is only ever handed out for the version that the state store itself holds. Whoever takes it out owns it,
    and puts it back under its next version; if that fails in between, the store is gone and is read anew.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._stores: OrderedDict[Hashable, tuple[bytes, Any]] = OrderedDict()

    def take(self, bucket: Hashable, version: bytes) -> Any | None:
        """Take the store of a bucket out; None unless it is of this version."""
        kept, store = self._stores.pop(bucket, (b"", None))
        return store if version and kept == version else None

    def put(self, bucket: Hashable, version: bytes, store: Any) -> None:
        """Keep a store, and drop the one that was not used for the longest time if there are too many."""
        self._stores[bucket] = (version, store)
        while len(self._stores) > self._most:
            self._stores.popitem(last=False)
