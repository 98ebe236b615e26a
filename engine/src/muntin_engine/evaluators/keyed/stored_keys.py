"""The states of the keys of a stored bucket, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from muntin import EmitPolicy
from muntin.catalog.named_windows import from_dict
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.key_store import joined
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket, StoredStates


def query_without_modules(identity: QueryIdentity, given: QueryIdentity) -> EvaluatorQuery:
    """Return a query in the terms of evaluators, from what a checkpoint says of it and of one of its inputs."""
    inputs = [name for name, _ in given["inputs"]]
    is_filtered = given["where"] and (given["id"] is not None or given["lifetimes"] == "edge")
    return EvaluatorQuery(
        from_dict(identity["window"]),  # type: ignore[arg-type]  # row windows have states that do not read it so
        (),
        emit=EmitPolicy.SPECULATIVE,  # so that windows are read if there are some
        is_edge=given["lifetimes"] == "edge",
        has_ids=given["id"] is not None,
        expressions=_ColumnsByName({name: itemgetter(place) for place, name in enumerate(inputs)}),
        keeps=itemgetter(len(inputs)) if is_filtered else None,
        forget_keys_after=identity.get("forget_keys_after"),
    )


def rows_of_keys(stored: StoredBucket, state_class: Any, query: Any) -> Iterator[HeldRow]:
    """Yield what is held of each key.

    Args:
        stored: The bucket.
        state_class: The class of the state of a key.
        query: The query as that class takes it.
    """
    codec, states = stored.codec, StoredStates(stored)
    last: dict[bytes, int] = {}
    for part in stored.parts:
        for name in codec.unpack(part.entry.data)[0]:
            last[name] = max(part.batch, last.get(name, -1))
    for name, (_, records) in sorted(joined(codec, [part.entry for part in stored.parts]).items()):
        if records[-1].data:
            key = tuple(codec.unpack(name))
            state = state_class.from_data(query, [codec.unpack(record.data) for record in records], states, key)
            for row in state.held_rows(states, stored.inputs):
                yield row._replace(key=key, batch=last[name])


class _ColumnsByName(dict[str, Callable[[Any], Any]]):
    """Columns of the input by their names; what other expressions give of a payload, a checkpoint does not tell."""

    def __missing__(self, expression: str) -> Callable[[Any], Any]:
        def refuse(payload: object) -> object:
            raise StateError(
                f"rows that came since the state of a key was written whole are in partitions by {expression!r}\n"
                f"  expected: a column; the checkpoint does not tell it of {payload!r}"
            )

        return refuse
