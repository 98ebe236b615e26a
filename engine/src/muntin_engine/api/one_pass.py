"""Several queries over one input in one Spark query, which reads the input once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any, Never

from muntin import Duration
from muntin.errors import QueryError
from muntin_engine.api.arguments import check_name, check_path, spelled
from muntin_engine.api.outputs import OUTPUTS
from muntin_engine.api.query import Query
from muntin_engine.api.text.has_text import text_of_queries
from muntin_engine.plan.explanation import explain_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.sinks import SinkLike
    from muntin_engine.sinks.recordings.recorder import RecordLike


def one_pass(*unnamed: Never, **queries: Query) -> OnePass:
    """Run several queries over one input in one Spark query, which reads the input once.

    The queries are of the same DataFrame and may differ in everything else: keys, times, `rows`, windows, modules,
    emission, progress and late policies, evaluator. Each has results, late rows, metrics and state of its own, the same
    as if it ran alone. They share the scan, the shuffle and the micro-batches. Queries of another query's results
    share what `as_events` returned, or any stream made of it. A query of several inputs cannot be one of them, nor can
    a query of the results of another one in the same pass.

    Args:
        unnamed: None: each query has a name.
        queries: By the names that their sinks, metrics and checkpoint go by; another name given by `Query.named` stays
            that of the metrics.

    Raises:
        QueryError: There is no query, or one has no name; they are of several DataFrames; one has several inputs; or
            two report metrics under one name.

    Example:
        >>> rides = events(stream, key="station", at="leaves", watermark="1 minute")  # doctest: +SKIP
        >>> asked = one_pass(  # doctest: +SKIP
        ...     hourly=rides.window(tumbling("1 hour")).aggregate(n=module("stats.count")),
        ...     sessions=rides.window(session("10 minutes")).aggregate(n=module("stats.count")),
        ... )
        >>> asked.write(results={"hourly": "hourly", "sessions": "sessions"}, checkpoint="kept")  # doctest: +SKIP
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
            raise QueryError(
                f"{name!r} has several inputs, {', '.join(given.name for given in query.plan.inputs)}, and queries of "
                "one pass read one\n  write it with a query of its own"
            )
        if not query.plan.choice.keeps_state:
            raise QueryError(
                f"{name!r} keeps no state, so its rows do not meet those of others in buckets\n"
                "  write it with a query of its own"
            )
    first, of_first = next(iter(queries.items()))
    for name, query in queries.items():
        if query.source.rows.df is not of_first.source.rows.df:
            raise QueryError(
                f"{first!r} and {name!r} are of two DataFrames, and one pass reads one\n"
                "  give events() the same DataFrame, not one made again or by where(); events(df, rows='...') takes "
                "some rows of it, and keys, times and inputs may be expressions\n"
                "  queries of another query's results share what as_events() returned"
            )
    named = {
        name: query if query.is_named else replace(query, metrics_name=name, is_named=True)
        for name, query in queries.items()
    }
    reported = {query.metrics_name: name for name, query in named.items()}
    for name, query in named.items():
        if reported[query.metrics_name] != name:
            raise QueryError(
                f"{name!r} and {reported[query.metrics_name]!r} report metrics under the name {query.metrics_name!r}\n"
                "  give one of them another name: .named('...')"
            )
    return OnePass(named)


@dataclass(frozen=True, repr=False)
class OnePass:
    """Several queries over one input in one Spark query; made by `one_pass`.

    Attributes:
        queries: The queries by name, in the order in which their sinks are called.
    """

    queries: Mapping[str, Query]

    def __repr__(self) -> str:
        """Return the names of the queries."""
        return f"one_pass({', '.join(self.queries)})"

    def to_dict(self, **tables: DataFrame) -> dict[str, Any]:
        """Return the queries as plain data, which JSON and YAML can hold: the calls that make each, by its name.

        `one_pass_from_dict` reads it. Steps that queries begin with alike are written for each, and called once.

        Args:
            tables: As for `Query.to_dict`.

        Raises:
            QueryError: As `Query.to_dict`; the message begins with the name of the query.

        Example:
            >>> asked.to_dict(rides=df)  # doctest: +SKIP
            {'muntin': 1, 'one_pass': {'hourly': [{'events': 'rides', ...}, ...], 'sessions': [...]}}
        """
        return text_of_queries({name: query.steps for name, query in self.queries.items()}, tables)

    def write(  # noqa: PLR0913  # as Query.write
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        results: Mapping[str, SinkLike] | None = None,
        late_rows: Mapping[str, SinkLike] | None = None,
        rejected_rows: Mapping[str, SinkLike] | None = None,
        evicted_rows: Mapping[str, SinkLike] | None = None,
        metrics: Mapping[str, SinkLike] | None = None,
        every: Duration | None = None,
        available_now: bool = False,
        on_end: str = "leave",
        name: str | None = None,
        record: RecordLike | Mapping[str, RecordLike] | None = None,
    ) -> StreamingQuery:
        """Start one Spark query that evaluates all queries in each micro-batch and hands their outputs to sinks.

        Sinks are those of `Query.write`, by the names of their queries. Every query has at least one. If a sink fails,
        the micro-batch is repeated for all queries.

        Args:
            checkpoint: Spark's checkpoint location: one for all queries, kept as long as they are. It remembers the
                queries by name, and none can be added, left out or changed. It has to be given.
            results: The sinks that take the results of queries.
            late_rows: Those that take late rows.
            rejected_rows: Those that take rejected rows.
            evicted_rows: Those that take second outputs.
            metrics: Those that take the progress of queries.
            every: As for `Query.write`, and so the others.
            available_now: The other pace.
            on_end: What happens to open windows, of all queries.
            name: Spark's name for the query, in its UI too. None: the name given by `named`, or else the windows and
                the key, with a number where a running query has that name.
            record: As for `Query.write`, with a folder for each query in it; or by the names of queries, where each is
                recorded.

        Raises:
            QueryError: There is no query of a name, a query has no sink; or as for `Query.write`.
            DurationError: `every` cannot be read.
            PolicyError: It has no unit, or is negative.
            SetupError: As for `Query.results`.
            StateMismatchError: The checkpoint is of other queries. Nothing was read or changed.
            StateError: The checkpoint is damaged or closed, or a folder is gone that it has written to.
        """
        if checkpoint is not None:
            check_path("checkpoint", checkpoint)
        if name is not None:
            check_name("name", name)
        from muntin_engine.backends.spark.writing.write import write

        outputs = dict(zip(OUTPUTS, (results, late_rows, rejected_rows, evicted_rows, metrics), strict=True))
        return write(self.queries, self._sinks(outputs), checkpoint, every, available_now, on_end, name, record)

    def close_checkpoint(
        self,
        checkpoint: str | PathLike[str],
        *,
        results: Mapping[str, SinkLike] | None = None,
        late_rows: Mapping[str, SinkLike] | None = None,
        rejected_rows: Mapping[str, SinkLike] | None = None,
        evicted_rows: Mapping[str, SinkLike] | None = None,
        metrics: Mapping[str, SinkLike] | None = None,
    ) -> None:
        """Close the stream of a checkpoint, as `Query.close_checkpoint` does, for all queries.

        Args:
            checkpoint: The checkpoint of the queries.
            results: As for `write`, the same sinks; the others too.
            late_rows: The sinks for late rows.
            rejected_rows: The sinks for rejected rows.
            evicted_rows: The sinks for second outputs.
            metrics: The sinks for progress.

        Raises:
            QueryError: A query cannot be closed, or something is not a sink.
            StateError: The checkpoint is closed, or of other queries, or a micro-batch of it was cut short.
            SinkError: A sink failed. Call again with the same sinks when it works.
        """
        check_path("checkpoint", checkpoint)
        from muntin_engine.backends.spark.writing.closing import close_checkpoint

        outputs = dict(zip(OUTPUTS, (results, late_rows, rejected_rows, evicted_rows, metrics), strict=True))
        close_checkpoint(self.queries, self._sinks(outputs), checkpoint)

    def check(self, checkpoint: str | PathLike[str]) -> list[str]:
        """Return what has changed since a checkpoint, as `Query.check`; raise unless the queries can continue from it.

        Args:
            checkpoint: Spark's checkpoint location.

        Raises:
            StateMismatchError: The checkpoint is of other queries.
            StateError: As for `Query.check`.
        """
        check_path("checkpoint", checkpoint)
        from muntin_engine.backends.spark.writing.write import check_checkpoint

        return check_checkpoint(self.queries, checkpoint)

    def explain(self, *, checkpoint: str | PathLike[str] | None = None) -> None:
        """Print the evaluation of each query, with reasons; see `Query.explain`.

        Args:
            checkpoint: A checkpoint, as `Query.explain` takes it.

        Raises:
            StateError: As for `Query.explain`.
        """
        print(self.plan_text(checkpoint=checkpoint))  # noqa: T201  # as a DataFrame does

    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; arguments and errors are the same."""
        texts = [
            f"query       {name}, {place} of {len(self.queries)} in one pass\n"
            + explain_plan(query.plan, query.plans[:-1])
            for place, (name, query) in enumerate(self.queries.items(), 1)
        ]
        if checkpoint is not None:
            check_path("checkpoint", checkpoint)
            from muntin_engine.backends.spark.writing.write import explain_checkpoint

            texts.append(explain_checkpoint(self.queries, checkpoint))
        return "\n\n".join(filter(None, texts))

    def _sinks(self, outputs: Mapping[str, Mapping[str, SinkLike] | None]) -> dict[str, dict[str, SinkLike | None]]:
        """Return the sinks by output, by the name of their query.

        Raises:
            QueryError: Sinks are not named by queries.
        """
        for output, sinks in outputs.items():
            if sinks is not None and not isinstance(sinks, Mapping):
                raise QueryError(
                    f"{output}={spelled(sinks)} does not say of which query\n"
                    f"  give a sink for each by name: {output}={{{next(iter(self.queries))!r}: ...}}"
                )
            self._check_names(output, sinks or ())
        return {name: {output: (sinks or {}).get(name) for output, sinks in outputs.items()} for name in self.queries}

    def _check_names(self, argument: str, names: Mapping[str, object] | Sequence[str]) -> None:
        for name in names:
            if name not in self.queries:
                close = get_close_matches(str(name), self.queries, n=1)
                hint = f"\n  did you mean {close[0]!r}?" if close else ""
                raise QueryError(
                    f"{argument} names {name!r}, and there is no such query{hint}\n  there are: "
                    f"{', '.join(self.queries)}"
                )
