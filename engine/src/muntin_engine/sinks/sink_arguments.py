"""The arguments of `write` that name sinks: paths, addresses, functions and sinks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from inspect import signature
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Final

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import is_elsewhere, local_path, scheme_of
from muntin_engine.sinks.function_sink import FunctionSink
from muntin_engine.sinks.parquet_folder import ParquetFolder
from muntin_engine.sinks.sink import Sink
from muntin_engine.sinks.sink_registry import sink_of_address

_TABLE: Final = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`)){1,2}")
_FORMATS: Final = frozenset(
    {"avro", "binaryfile", "console", "csv", "delta", "deltalake", "hive", "hudi", "iceberg", "jdbc", "json", "kafka"}
    | {"memory", "noop", "orc", "parquet", "rate", "socket", "table", "text", "xml"}
)
"""The usual formats of `DataFrameWriter.format`, of which a query writer may take `results=` for one."""

_PARQUET_ENDINGS: Final = frozenset({"parquet", "pq"})
"""The endings of names that look like those of tables, as `lake.parquet` does, and are those of folders."""


def spelled_output(output: str, query: str) -> str:
    """Spell the argument of `write` that names the sink of an output.

    Args:
        output: The output, such as `results`.
        query: The name of the query among those of one pass; empty for a query that is written alone.

    Example:
        >>> spelled_output("results", ""), spelled_output("results", "hourly")
        ('results', "results['hourly']")
    """
    return f"{output}[{query!r}]" if query else output


def choose_sinks(
    arguments: Mapping[str, Mapping[str, object]], checkpoint: str | PathLike[str]
) -> dict[str, dict[str, Sink]]:
    """Return the sinks of queries, by the name of the query and by output.

    Args:
        arguments: By the name of the query and by output, the argument of `write`; None for an output without one.
        checkpoint: The path of the checkpoint.

    Raises:
        QueryError: A query has no sink, an argument names no sink, or two sinks would write in the same place.
    """
    sinks_by_query: dict[str, dict[str, Sink]] = {}
    sinks_by_argument: dict[str, Sink] = {}
    for query, query_arguments in arguments.items():
        sinks: dict[str, Sink] = {}
        for output, argument in query_arguments.items():
            if argument is not None:
                name = spelled_output(output, query)
                sinks[output] = _sink_of_argument(name, argument)
                sinks_by_argument[name] = sinks[output]
        if not sinks:
            of_query = f" for {query!r}" if query else ""
            raise QueryError(
                f"write() needs at least one sink{of_query}\n  name one for any of {', '.join(query_arguments)}"
            )
        sinks_by_query[query] = sinks
    _check_destinations(sinks_by_argument, checkpoint)
    return sinks_by_query


def _sink_of_argument(output: str, argument: object) -> Sink:
    """Return the sink that an argument of `write` names.

    Args:
        output: The spelling of the argument, for errors.
        argument: The argument: a sink, an address, a path or a function.

    Raises:
        QueryError: The argument names no sink.
    """
    if isinstance(argument, Sink):
        return argument
    if isinstance(argument, str) and scheme_of(argument):
        return sink_of_address(output, argument)
    if isinstance(argument, str):
        _check_is_folder(output, argument)
    if isinstance(argument, str | PathLike):
        return ParquetFolder(argument)
    if callable(argument) and not isinstance(argument, type):  # a class, such as `KafkaTopic`, is callable as well
        _check_takes_batches(output, argument)
        return FunctionSink(argument)
    raise QueryError(
        f"{output}={argument!r} is not a sink\n"
        "  expected a path for Parquet files, an address such as 'delta:PATH', a function of a DataFrame and the\n"
        "  number of its micro-batch, or a Sink"
    )


def _check_is_folder(output: str, path: str) -> None:
    """Refuse the name of a format or of a table: `ParquetFolder` would make a folder of that name.

    Args:
        output: The argument of `write`, for the error.
        path: The text that the query writer gave it.

    Raises:
        QueryError: The text is the name of a format or of a table.
    """
    ending = path.rpartition(".")[2].lower()
    is_table = _TABLE.fullmatch(path) is not None and ending not in _PARQUET_ENDINGS
    is_format = path.lower() in _FORMATS
    if is_table or is_format:
        kind = "a table" if is_table else "a format"
        raise QueryError(
            f"{output}={path!r} is the name of {kind}, and a path is expected, in which Parquet files are put\n"
            f"  for a folder of that name write {output}={'./' + path!r}\n"
            "  for a table, or another format, give a function (batch, batch_id) that writes what it is given:\n"
            "  as foreachBatch does, it gets each micro-batch as a DataFrame, with its number"
        )


def _check_takes_batches(output: str, function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with a DataFrame and a number.

    Args:
        output: The argument of `write`, for the error.
        function: The function.

    Raises:
        QueryError: The function takes more arguments, or fewer.
    """
    try:
        signature(function).bind(None, 0)
    except TypeError as error:
        raise QueryError(
            f"{output}={FunctionSink(function)} cannot be called with a DataFrame and a number: {error}\n"
            "  expected a function (batch, batch_id); for the output watermark write a Sink, whose take_watermark "
            "gets it"
        ) from None
    except ValueError:  # a function that was not written in Python need not say what it takes
        return


def _check_destinations(sinks: Mapping[str, Sink], checkpoint: str | PathLike[str]) -> None:
    """Raise if two sinks, or a sink and the checkpoint, would write in the same place.

    Args:
        sinks: The sinks, by the arguments that name them.
        checkpoint: The path of the checkpoint.

    Raises:
        QueryError: Two of them have one destination, or one of two folders lies in the other; or the path is empty.
    """
    checkpoint_path = os.fspath(checkpoint)
    if not checkpoint_path:
        raise QueryError("the checkpoint needs a path\n  expected one of its own, kept for as long as the query is")

    # Two sinks with one table or topic, or a single sink that is given for two outputs.
    for (first_name, first_sink), (second_name, second_sink) in combinations(sinks.items(), 2):
        if first_sink is second_sink or _have_one_destination(first_sink, second_sink):
            raise QueryError(
                f"{first_name} and {second_name} are the same sink, {first_sink}\n  give each one of its own"
            )

    # One folder in another: a reader of the outer one would find the rows of the inner one too.
    folders: dict[str, Path] = {}
    for output, sink in sinks.items():
        if sink.folder is not None:
            folders[f"{output}={sink}"] = sink.folder.resolve()
    if not is_elsewhere(checkpoint_path):
        folders[f"checkpoint={checkpoint_path!r}"] = local_path(checkpoint_path).resolve()
    for (first_name, first_folder), (second_name, second_folder) in combinations(folders.items(), 2):
        if first_folder.is_relative_to(second_folder) or second_folder.is_relative_to(first_folder):
            raise QueryError(
                f"{first_name} and {second_name} lie in each other's folder\n  give each a folder of its own"
            )


def _have_one_destination(first_sink: Sink, second_sink: Sink) -> bool:
    """Return True if two sinks write to the same table or topic.

    False for a sink with a folder: the caller, `_check_destinations`, compares folders by their paths.
    """
    if first_sink.folder is not None or first_sink.destination is None:
        return False
    return first_sink.destination == second_sink.destination
