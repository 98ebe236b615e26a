"""From what a query writer names to sinks: paths, functions, and sinks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING

from muntin.errors import QueryError
from muntin_engine.sinks.parquet_folder import ParquetFolder
from muntin_engine.sinks.places import check_is_folder, is_elsewhere, local_path
from muntin_engine.sinks.schemes import scheme_of, sink_of
from muntin_engine.sinks.sink import Sink, WriteFunction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Hands each micro-batch to a function, as `foreachBatch` does.

    Attributes:
        function: Takes the rows of a micro-batch, and its number.
    """

    function: WriteFunction

    def __str__(self) -> str:
        return f"the function {getattr(self.function, '__qualname__', self.function)}"

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Call the function."""
        self.function(batch, batch_id)


def spelled_output(output: str, query: str) -> str:
    """Return the argument of `write` that names a sink: of the only query, or of one of several.

    Example:
        >>> spelled_output("results", ""), spelled_output("results", "hourly")
        ('results', "results['hourly']")
    """
    return f"{output}[{query!r}]" if query else output


def choose_sinks(
    wanted: Mapping[str, Mapping[str, object]], checkpoint: str | PathLike[str]
) -> dict[str, dict[str, Sink]]:
    """Return the sinks of queries, by the name of the query and by output.

    Args:
        wanted: What was named for each output, by the name of the query; None where nothing was.
        checkpoint: Where the checkpoint is put.

    Raises:
        QueryError: A query has no sink, one is named that is none, or two would write in the same place.
    """
    chosen: dict[str, dict[str, Sink]] = {}
    for query, of_query in wanted.items():
        named = {output: sink for output, sink in of_query.items() if sink is not None}
        if not named:
            of = f" for {query!r}" if query else ""
            raise QueryError(f"write() needs at least one sink{of}\n  name one for any of {', '.join(of_query)}")
        chosen[query] = {output: _sink(spelled_output(output, query), sink) for output, sink in named.items()}
    _check_places(
        {spelled_output(output, query): sink for query, sinks in chosen.items() for output, sink in sinks.items()},
        checkpoint,
    )
    return chosen


def _sink(output: str, named: object) -> Sink:
    if isinstance(named, Sink):
        return named
    if isinstance(named, str):
        if scheme_of(named):
            return sink_of(output, named)
        check_is_folder(output, named)
    if isinstance(named, str | PathLike):
        return ParquetFolder(named)
    if callable(named) and not isinstance(named, type):
        _check_takes_two(output, named)
        return FunctionSink(named)
    raise QueryError(
        f"{output}={named!r} is not a sink\n"
        "  expected a path for Parquet files, an address such as 'delta:PATH', a function of a DataFrame and the\n"
        "  number of its micro-batch, or a Sink"
    )


def _check_takes_two(output: str, function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with a DataFrame and a number.

    Raises:
        QueryError: It takes more, or less.
    """
    try:
        signature(function).bind(None, 0)
    except TypeError as error:
        raise QueryError(
            f"{output}={FunctionSink(function)} cannot be called with a DataFrame and a number: {error}\n"
            "  expected a function (batch, batch_id); for the output watermark write a Sink, whose take_watermark "
            "gets it"
        ) from None
    except ValueError:  # it was not written in Python, and does not say what it takes
        return


def _check_places(sinks: Mapping[str, Sink], checkpoint: str | PathLike[str]) -> None:
    text = os.fspath(checkpoint)
    if not text:
        raise QueryError("the checkpoint needs a path\n  expected one of its own, kept for as long as the query is")
    for (one, first_sink), (other, second_sink) in combinations(sinks.items(), 2):
        is_same_place = first_sink.folder is None and first_sink.place in {second_sink.place} - {None}
        if first_sink is second_sink or is_same_place:
            raise QueryError(f"{one} and {other} are the same sink, {first_sink}\n  give each one of its own")
    places = {f"{output}={sink}": sink.folder for output, sink in sinks.items()}
    if not is_elsewhere(text):
        places[f"checkpoint={text!r}"] = local_path(text)
    taken = [(name, path.resolve()) for name, path in places.items() if path is not None]
    for (one, first), (other, second) in combinations(taken, 2):
        if first.is_relative_to(second) or second.is_relative_to(first):
            raise QueryError(f"{one} and {other} lie in each other's folder\n  give each a folder of its own")
