"""External events: rows that no key has, and that every bucket hears of."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from muntin_engine.exchange.problems import CHANGES, SIGNAL
from muntin_engine.exchange.readable import unreadable


def signals_in(batch: pa.RecordBatch) -> frozenset[str]:
    """Return the names of the signals in some projected rows.

    Cost: two vectorised passes over the rows of a query that has signals; none for others.
    """
    if not {"signal", "change"} <= set(batch.schema.names):
        return frozenset()
    is_signal = pc.fill_null(pc.equal(batch.column("change"), CHANGES[SIGNAL]), False)
    names = pc.drop_null(batch.column("signal").filter(is_signal))
    known = pc.unique(names)
    return frozenset(known.filter(pa.array(~unreadable(known))).to_pylist())
