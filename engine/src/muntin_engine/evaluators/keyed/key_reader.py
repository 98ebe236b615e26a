"""The states of the keys of a bucket in a checkpoint, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from muntin import EmitPolicy
from muntin.catalog.named_windows import from_dict
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.key_store import merge_records
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import BucketReader, StateReader, StateRow
from muntin_engine.state.differences import QueryIdentity


def query_without_modules(identity: QueryIdentity, input_identity: QueryIdentity) -> EvaluatorQuery:
    """Return a query in the terms of evaluators, from the identities that a checkpoint has.

    Args:
        identity: The identity of the query.
        input_identity: The properties of one of its inputs; those of the query if it has a single one.
    """
    column_names = [name for name, _ in input_identity["inputs"]]
    is_edge = input_identity["lifetimes"] == "edge"
    has_ids = input_identity["id"] is not None
    read_by_name = {name: itemgetter(place) for place, name in enumerate(column_names)}

    # An input with ids or samples keeps filtered events too: the value after the columns of a payload is False for
    # these.
    keeps_filtered = input_identity["where"] and (has_ids or is_edge)
    read_mark = itemgetter(len(column_names)) if keeps_filtered else None
    return EvaluatorQuery(
        window=from_dict(identity["window"]),  # type: ignore[arg-type]  # states of row windows do not read this field
        bindings=(),  # the modules may not be installed
        # The state of a query with final output has no windows; with any other output its windows are read alike.
        emit=EmitPolicy.SPECULATIVE,
        is_edge=is_edge,
        has_ids=has_ids,
        expressions=_ColumnsByName(read_by_name),
        keeps=read_mark,
        forget_keys_after=identity.get("forget_keys_after"),
    )


def rows_of_keys(bucket: BucketReader, state_class: Any, query: Any) -> Iterator[StateRow]:
    """Yield the content of each key's state.

    Args:
        bucket: The bucket.
        state_class: The class of the state of a key.
        query: The query as that class takes it.
    """
    codec = bucket.codec
    states = StateReader(bucket)

    # The last batch that wrote each key. The names of keys are the first column of an entry.
    last_batches: dict[bytes, int] = {}
    for dated in bucket.entries:
        names = codec.unpack(dated.entry.data)[0]
        for name in names:
            last_batches[name] = max(dated.batch, last_batches.get(name, -1))

    records_by_name = merge_records(codec, [dated.entry for dated in bucket.entries])
    for name, merged in sorted(records_by_name.items()):
        if not merged.records[-1].data:
            continue  # the key has no state any more
        key = tuple(codec.unpack(name))
        stored = [codec.unpack(record.data) for record in merged.records]
        state = state_class.from_data(query, stored, states, key)
        for row in state.state_rows(states, bucket.inputs):
            yield row._replace(key=key, batch=last_batches[name])


class _ColumnsByName(dict[str, Callable[[Any], Any]]):
    """Columns of the input by their names. A checkpoint has no values of other expressions."""

    def __missing__(self, expression: str) -> Callable[[Any], Any]:
        """Return a function that raises an error when it is called, in the place of an expression that is no column.

        Most states are read without a value of the expression: so the error is raised only if one is needed.
        """

        def refuse(payload: object) -> object:
            """Raise the error: a checkpoint has the texts of expressions, not their values."""
            raise StateError(
                f"rows that came since the state of a key was written whole are in partitions by {expression!r}\n"
                f"  expected: a column; the checkpoint does not tell it of {payload!r}"
            )

        return refuse
