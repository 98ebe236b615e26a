"""Several queries over one input in one Spark query, which reads the input once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any, Never

from muntin.errors import QueryError
from muntin_engine.api.arguments import check_name, spelled
from muntin_engine.api.query import Query
from muntin_engine.api.text.has_text import text_of_queries
from muntin_engine.api.writes_outputs import WritesOutputs
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.sinks.recordings.recorder import RecordLike
from muntin_engine.sinks.sink import SinkLike

if TYPE_CHECKING:
    from muntin_engine.plan.request import Frame


def one_pass(*unnamed: Never, **queries: Query) -> OnePass:
    """Run several queries over one input in one Spark query, which reads the input once.

    The queries read the same DataFrame and may differ in everything else: keys, times, `rows`, windows, modules,
    emission, progress and late policies, evaluator. Each has its own results, late rows, metrics and state, the same as
    if it ran alone. They share the scan, the shuffle and the micro-batches. Queries of another query's results share
    the stream that `as_events` returned, or any stream derived from it. A query of several inputs cannot be one of
    them, nor can a query of the results of another one in the same pass.

    Args:
        unnamed: Nothing: each query has a name.
        queries: Queries by name. Their sinks, metrics and checkpoint have these names; metrics keep a name that
            `Query.named` gave.

    Raises:
        QueryError: There is no query, or a query has no name; an argument is no query; they read several DataFrames; a
            query has several inputs, or keeps no state; or two report metrics under one name.

    Example:
        >>> rides = events(stream, key="station", at="leaves", watermark="1 minute")  # doctest: +SKIP
        >>> both = one_pass(  # doctest: +SKIP
        ...     hourly=rides.window(tumbling("1 hour")).aggregate(n=module("stats.count")),
        ...     sessions=rides.window(session("10 minutes")).aggregate(n=module("stats.count")),
        ... )
        >>> both.write(results={"hourly": "hourly", "sessions": "sessions"}, checkpoint="checkpoint")  # doctest: +SKIP
    """
    if unnamed or not queries:
        raise QueryError(
            "one_pass() needs at least one query, each with a name: one_pass(hourly=hourly, sessions=sessions)"
        )
    for name, query in queries.items():
        check_name("the name of a query", name)
        if not isinstance(query, Query):
            raise QueryError(
                f"one_pass({name}={query!r:.80}) is not a query\n  expected what aggregate() or apply() returns"
            )
        if len(query.sources) > 1:
            inputs = ", ".join(source.name for source in query.plan.inputs)
            raise QueryError(
                f"{name!r} has several inputs, {inputs}, and queries of one pass read one\n"
                "  write it with a query of its own"
            )
        if not query.plan.choice.keeps_state:
            raise QueryError(
                f"{name!r} keeps no state, so its rows do not meet those of others in buckets\n"
                "  write it with a query of its own"
            )

    # It has to be the same object: of two DataFrames nobody can tell whether they have the same rows.
    first_name, first_query = next(iter(queries.items()))
    for name, query in queries.items():
        if query.source.rows.df is not first_query.source.rows.df:
            raise QueryError(
                f"{first_name!r} and {name!r} are of two DataFrames, and one pass reads one\n"
                "  give events() the same DataFrame, not one made again or by where(); events(df, rows='...') takes "
                "some rows of it, and keys, times and inputs may be expressions\n"
                "  queries of another query's results share what as_events() returned"
            )
    return OnePass(_with_metrics_names(queries))


def _with_metrics_names(queries: Mapping[str, Query]) -> dict[str, Query]:
    """Return the queries, each with a name for its metrics.

    A query keeps the name that `Query.named` gave it. Other queries get the name that they have in the pass.

    Raises:
        QueryError: Two queries have the same name for their metrics.
    """
    named_queries: dict[str, Query] = {}
    for name, query in queries.items():
        named_queries[name] = query if query.is_named else replace(query, metrics_name=name, is_named=True)

    # Two queries report under one name if one of them is not the last query with the name of its metrics.
    last_query_of: dict[str, str] = {}
    for name, query in named_queries.items():
        last_query_of[query.metrics_name] = name
    for name, query in named_queries.items():
        other_name = last_query_of[query.metrics_name]
        if other_name != name:
            raise QueryError(
                f"{name!r} and {other_name!r} report metrics under the name {query.metrics_name!r}\n"
                "  give one of them another name: .named('...')"
            )
    return named_queries


@dataclass(frozen=True, repr=False)
class OnePass(WritesOutputs[Mapping[str, SinkLike], RecordLike | Mapping[str, RecordLike]]):
    """Several queries over one input in one Spark query; made by `one_pass`.

    Attributes:
        queries: The queries by name, in the order in which their sinks are called.
    """

    queries: Mapping[str, Query]

    def __repr__(self) -> str:
        """Return the names of the queries."""
        return f"one_pass({', '.join(self.queries)})"

    def to_dict(self, **tables: Frame) -> dict[str, Any]:
        """Return the queries as plain data, which JSON and YAML can hold: the calls that make each query, by its name.

        `one_pass_from_dict` reads this. Equal steps at the beginning of queries are written for each query, and called
        once.

        Args:
            tables: As for `Query.to_dict`.

        Raises:
            QueryError: As for `Query.to_dict`; the message begins with the name of the query.

        Example:
            >>> both.to_dict(rides=df)  # doctest: +SKIP
            {'muntin': 1, 'one_pass': {'hourly': [{'events': 'rides', ...}, ...], 'sessions': [...]}}
        """
        return text_of_queries({name: query.steps for name, query in self.queries.items()}, tables)

    @property
    def queries_by_name(self) -> Mapping[str, Query]:
        """The queries."""
        return self.queries

    def sinks_by_query(
        self, sinks: Mapping[str, Mapping[str, SinkLike] | None]
    ) -> Mapping[str, Mapping[str, SinkLike | None]]:
        """Return the sinks by the names of their queries, and then by the outputs that they get.

        Args:
            sinks: The arguments of `write`: for each output, such as `results`, its sinks by the names of queries.

        Raises:
            QueryError: The sinks of an output are no mapping, or a name is not that of a query.
        """
        first_name = next(iter(self.queries))  # for the example in an error
        for output, named_sinks in sinks.items():
            if named_sinks is not None and not isinstance(named_sinks, Mapping):
                raise QueryError(
                    f"{output}={spelled(named_sinks)} does not say of which query\n"
                    f"  give a sink for each by name: {output}={{{first_name!r}: ...}}"
                )
            self._check_names(output, named_sinks or ())

        sinks_by_query: dict[str, dict[str, SinkLike | None]] = {}
        for name in self.queries:
            sinks_of_query: dict[str, SinkLike | None] = {}
            for output, named_sinks in sinks.items():
                sinks_of_query[output] = None if named_sinks is None else named_sinks.get(name)
            sinks_by_query[name] = sinks_of_query
        return sinks_by_query

    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; its arguments and errors are those of `explain`."""
        texts: list[str] = []
        for number, (name, query) in enumerate(self.queries.items(), 1):
            heading = f"query       {name}, {number} of {len(self.queries)} in one pass"
            texts.append(f"{heading}\n{explain_plan(query.plan, query.inner_plans)}")
        if checkpoint is not None:
            texts.append(self._explain_checkpoint(checkpoint))
        return "\n\n".join(texts)

    def _check_names(self, argument: str, names: Mapping[str, object] | Sequence[str]) -> None:
        """Raise unless each name in an argument is that of a query.

        Args:
            argument: The name of the argument.
            names: The names in it.

        Raises:
            QueryError: There is no query of a name.
        """
        for name in names:
            if name not in self.queries:
                close = get_close_matches(str(name), self.queries, n=1)
                hint = f"\n  did you mean {close[0]!r}?" if close else ""
                raise QueryError(
                    f"{argument} names {name!r}, and there is no such query{hint}\n  there are: "
                    f"{', '.join(self.queries)}"
                )
