"""The pictures of the page on architecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.pictures.diagram import Diagram
from muntin_cli.pictures.diagram import Arrow, Box

_ENGINE: Final = Box(
    "muntin_engine",
    (
        "api: what a query writer calls",
        "plan: one checked plan",
        "evaluators: general, slices, columnar",
        "exchange: Arrow, without Spark",
        "spark: alone knows PySpark",
        "writing, monitoring",
    ),
    width=228,
)
_PLUGIN: Final = Box(
    "plugins",
    ("muntin_adapters,", "muntin_stats,", "muntin_patterns,", "yours: found by", "entry points"),
    "yours",
    262,
    126,
)
_SDK: Final = Box(
    "muntin",
    (
        "events, windows, policies, triggers: plain data",
        "modules: the base classes and their contracts",
        "hooks, catalog: what is installed",
        "testing: streams, laws, the reference evaluator",
    ),
)
_DISTRIBUTE: Final = Box(
    "distribute: mapInArrow",
    (
        "a bad row goes to the side output",
        "rows of a bucket become one blob, or partial states",
        "each bucket gets the progress of the input",
    ),
)
_BUCKET: Final = Box(
    "a bucket: transformWithState",
    (
        "bucket metadata first: identity, progress, timers",
        "admit, find windows, compute, close, drop state",
        "cells written last: none of them if a module fails",
    ),
)


def pictures() -> Iterator[Diagram]:
    """Yield who imports whom, and how a row travels."""
    yield Diagram(
        "floors",
        "The layers: a query, the engine and plugins, the SDK",
        (
            (Box("a query", ("names modules, windows and policies",), "yours"),),
            (Arrow("imports", 60), Arrow("finds by name", 268)),
            (_ENGINE, _PLUGIN),
            (Arrow("imports", 60), Arrow("imports", 268)),
            (_SDK,),
        ),
    )
    yield Diagram(
        "journey",
        "The journey of a row from a DataFrame to a result",
        (
            (Box("a row of any DataFrame", look="plain"),),
            (Arrow(),),
            (Box("project: Spark SQL", ("its key, times and inputs, and the bucket of its key",), "spark"),),
            (Arrow("Arrow batches, to Python"),),
            (_DISTRIBUTE,),
            (Arrow("the shuffle, by bucket"),),
            (_BUCKET,),
            (Arrow("state, payloads or events, window"),),
            (Box("your module", ("create_state, add_events, compute_result, ...",), "yours"),),
            (Arrow("blobs: results, late rows, rejected rows, numbers"),),
            (Box("typed rows, or sinks", ("results(), late_rows(), rejected_rows(), write()",), "spark"),),
        ),
    )
