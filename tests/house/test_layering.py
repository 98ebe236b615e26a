"""Who may import whom: the table of the house, checked on every source file.

A layer is the modules whose names start with its own, up to the next longer layer. `anywhere` holds what its modules
may import besides the standard library, `in_functions` what only a function's body may, `for_types` what only an
`if TYPE_CHECKING:` block may, `never` what they may not whatever else is said. No imports make a circle, those in
functions and for types counted.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "sdk/src", ROOT / "engine/src", ROOT / "cli/src", *sorted(ROOT.glob("plugins/*/src")))


def files_by_module() -> dict[str, Path]:
    """Return the source files, by the names of their modules."""
    files: dict[str, Path] = {}
    for source in SOURCES:
        for file in sorted(source.rglob("*.py")):
            if "template" in file.parts:
                continue  # a copy of it is tested under the name that it gets
            module = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
            files[module] = file
    return files


FILES = files_by_module()
PLUGINS = tuple(sorted(package.name for package in ROOT.glob("plugins/*/src/*") if package.is_dir()))


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    """Tell whether a module is one of these packages or lies in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


Place = Literal["module", "function", "types"]
"""Where an import is: in a module itself, in a function, or in an `if TYPE_CHECKING:` block."""


class Import(NamedTuple):
    """An import in a source file.

    Attributes:
        name: The name of the imported module.
        line: The number of the line.
        place: Where it is.
    """

    name: str
    line: int
    place: Place


@dataclass(frozen=True, slots=True)
class Layer:
    """The imports that the modules of a package may have.

    Attributes:
        name: The package.
        anywhere: The packages that they may import anywhere; "*" is all.
        in_functions: The packages that they may also import in functions.
        for_types: The packages that they may also import for types.
        never: The packages that they never import, though another rule may allow it.
    """

    name: str
    anywhere: tuple[str, ...]
    in_functions: tuple[str, ...] = ()
    for_types: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def allows(self, imported: Import) -> bool:
        """Tell whether the modules of the layer may have an import."""
        if _is_in(imported.name, self.never):
            return False
        if "*" in self.anywhere:
            return True
        allowed_there: Mapping[Place, tuple[str, ...]] = {"function": self.in_functions, "types": self.for_types}
        allowed = (*self.anywhere, *allowed_there.get(imported.place, ()), *sys.stdlib_module_names)
        return _is_in(imported.name, allowed)


@dataclass(frozen=True, slots=True)
class Room:
    """A folder, and whatever lies in it that is no room of its own.

    Attributes:
        name: The package.
        needs: The packages of others that it may import anywhere.
        extras: The packages of others that it may import in functions and for types: a user may lack them.
        types: The packages of others that it may import for types alone.
        avoids: The rooms below that it does not import.
    """

    name: str
    needs: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    avoids: tuple[str, ...] = ()


SDK = ("muntin", "packaging", "typing_extensions")
ARRAYS = ("numpy", "pyarrow")
CONNECTORS = ("deltalake", "pyiceberg", "sqlalchemy")
EXPORTERS = ("opentelemetry", "prometheus_client")
TESTING = ("muntin.testing", "pytest", "hypothesis")

SDK_ROOMS = (
    Room("errors"),
    Room("notebook"),
    Room("frozen", needs=("typing_extensions",)),
    Room("axis"),
    Room("events", needs=("typing_extensions",)),
    Room("changes", needs=("typing_extensions",)),
    Room("schemas", needs=("typing_extensions",)),
    Room("definitions", needs=("packaging",)),
    Room("policies"),
    Room("progress"),
    Room("windows"),
    Room("rows"),
    Room("columnar", needs=("numpy",)),
    Room("modules", needs=("typing_extensions",)),
    Room("triggers"),
    Room("catalog", needs=("pluggy",)),
    Room("query_checks"),
    Room("drawings"),
    Room("pictures", extras=("pyarrow",)),
    Room("testing", needs=("numpy",)),
    Room("testing.laws", needs=("numpy", "hypothesis", "pytest")),
)
"""The rooms of the SDK from the bottom up: each may import those that stand before it, and none that stand after."""
SDK_STILL_UP: Mapping[str, tuple[str, ...]] = {
    "triggers": ("catalog",),  # `named` finds a plugin's trigger, and the catalog checks the triggers of plugins
    "testing": ("testing.laws",),  # the names of laws, imported when they are first used
}
FOUNDATION = tuple(f"muntin_engine.{name}" for name in ("errors", "needed", "backend_modules"))

ENGINE = (
    Room("time"),
    Room("state", needs=("msgpack",)),
    Room("modules"),
    Room("packages", extras=("pyarrow",)),
    Room("plan", types=("pyarrow", "pyspark")),
    Room("wire", needs=ARRAYS),
    Room("workers"),
    Room("evaluators", types=("pyarrow",)),
    Room("evaluators.declarations"),
    Room("evaluators.keyed", needs=(*ARRAYS, "sortedcontainers")),
    Room("evaluators.general", needs=(*ARRAYS, "sortedcontainers")),
    Room("evaluators.ordered", needs=(*ARRAYS, "sortedcontainers")),
    Room("evaluators.arrays.stretches", needs=(*ARRAYS, "msgpack")),
    Room("evaluators.arrays.values", needs=ARRAYS),
    Room("evaluators.arrays.store", needs=(*ARRAYS, "msgpack")),
    Room("evaluators.arrays.geometry", needs=ARRAYS),
    Room("evaluators.arrays.admission", needs=ARRAYS),
    Room("evaluators.arrays", needs=ARRAYS),
    Room("evaluators.ranked", needs=ARRAYS),
    Room("evaluators.joins", needs=(*ARRAYS, "sortedcontainers")),
    Room("tasks", needs=ARRAYS),
    Room("sinks", extras=(*CONNECTORS, "pyarrow"), types=("pyspark",)),
    Room("sinks.recordings", needs=ARRAYS),
    Room("backends", types=("pyarrow", "pyspark")),
    Room("backends.planning", needs=("pyarrow",)),
    Room("backends.local", needs=(*ARRAYS, "cloudpickle", "duckdb", "loky", "sqlglot"), extras=("pandas", "polars")),
    Room("backends.spark", needs=("*",), avoids=("backends.local",)),
    Room("sql_text", needs=("sqlglot",)),
    Room("api", types=("pyarrow", "pyspark"), avoids=("backends.local", "backends.spark")),
    Room("monitoring", needs=("rich",), extras=EXPORTERS),
    Room("recording", needs=ARRAYS),
    Room("recording.backtest", needs=(*ARRAYS, "duckdb", "muntin_engine.recording")),
)
"""The rooms of the engine from the bottom up: each may import those that stand before it, and none that stand after."""
LEAVES = ("monitoring", "recording")
"""No room imports one of these, and neither do they import each other."""


def _layer_of_sdk_room(place: int, room: Room) -> Layer:
    """Return the layer of a room of the SDK, by its place from the bottom up."""
    still_up = tuple(f"muntin.{name}" for name in SDK_STILL_UP.get(room.name, ()))
    not_above = tuple(f"muntin.{sdk_room.name}" for sdk_room in SDK_ROOMS[: place + 1])
    above = {f"muntin.{sdk_room.name}" for sdk_room in SDK_ROOMS[place + 1 :]}
    return Layer(
        f"muntin.{room.name}",
        (*not_above, *room.needs),
        in_functions=(*still_up, *room.extras),
        for_types=(*still_up, *room.extras),
        never=tuple(above.difference(still_up)),
    )


def _files_in(package: str) -> list[str]:
    """Return the modules that lie in a package itself, and not in packages of it."""
    folders = {module.rpartition(".")[0] for module in FILES}
    return [module for module in FILES if module.rpartition(".")[0] == package and module not in folders]


def _layer_of_room(place: int, room: Room) -> Layer:
    """Return the layer of a room of the engine, by its place from the bottom up."""
    below = tuple(f"muntin_engine.{lower.name}" for lower in ENGINE[: place + 1] if lower.name not in LEAVES)
    package = f"muntin_engine.{room.name}"
    above: list[str] = []
    for upper in ENGINE[place + 1 :]:
        name = f"muntin_engine.{upper.name}"
        # A folder of its own may stand before the room that it lies in: then the files of that room are above it.
        above += _files_in(name) if package.startswith(f"{name}.") else [name]
    avoided = tuple(f"muntin_engine.{name}" for name in room.avoids)
    return Layer(
        package,
        (*SDK, *FOUNDATION, *below, *room.needs, package),
        in_functions=room.extras,
        for_types=(*room.extras, *room.types),
        never=(*TESTING, *PLUGINS, *above, *avoided),
    )


LAYERS = (
    Layer("muntin", ("muntin",), never=TESTING),
    *(_layer_of_sdk_room(place, room) for place, room in enumerate(SDK_ROOMS)),
    *(_layer_of_room(place, room) for place, room in enumerate(ENGINE)),
    *(Layer(name, (*SDK, *FOUNDATION), never=TESTING) for name in FOUNDATION),
    Layer("muntin_engine.testing", ("*",), never=PLUGINS),
    Layer("muntin_engine", (*SDK, "muntin_engine"), never=TESTING),
    Layer(
        "muntin_cli",
        (*SDK, "muntin.testing", "muntin_cli", "rich", "typer"),
        in_functions=("duckdb", "muntin_engine", "pyarrow", "pyspark", "yaml"),
        for_types=("muntin_engine", "pyarrow", "pyspark"),
    ),
    Layer("muntin_cli.probes", (*SDK, "pytest")),
    Layer("muntin_adapters", (*SDK, "muntin_adapters", "numpy", "pandas"), never=TESTING),
    *(Layer(plugin, ("*",), never=("muntin_engine", "pyspark", *(set(PLUGINS) - {plugin}))) for plugin in PLUGINS),
)


def layer_of(module: str) -> Layer:
    """Return the layer of a module: the one with the longest name that it lies in."""
    return max((layer for layer in LAYERS if _is_in(module, (layer.name,))), key=lambda layer: len(layer.name))


def forbidden_imports(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """Return a line for each import of a source that the layer of its module does not allow."""
    layer = layer_of(module)
    lines: list[str] = []
    for imported in imports_of(module, source, is_package=is_package):
        if not layer.allows(imported):
            lines.append(f"{module}:{imported.line} imports {imported.name}")
    return lines


def imports_of(module: str, source: str, *, is_package: bool) -> Iterator[Import]:
    """Yield the imports in the source of a module, or of the `__init__.py` of a package."""
    package = module if is_package else module.rpartition(".")[0]
    yield from _imports_below(ast.parse(source), package, "module")


def _imports_below(node: ast.AST, package: str, place: Place) -> Iterator[Import]:
    """Yield the imports in a part of a source, which lies in a package and at a place."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, place)
    elif isinstance(node, ast.ImportFrom):
        for name in _imported_names(node, package):
            yield Import(name, node.lineno, place)
    for child in ast.iter_child_nodes(node):
        yield from _imports_below(child, package, _place_of(child, node, place))


def _imported_names(node: ast.ImportFrom, package: str) -> set[str]:
    """Return the modules that an import names: a module of ours, or the module that a name is imported from."""
    parts: list[str] = []
    if node.level:  # relative: one dot is the package itself, and each further one a package around it
        packages = package.split(".")
        parts = packages[: len(packages) - node.level + 1]
    if node.module:
        parts.append(node.module)
    module = ".".join(parts)

    names: set[str] = set()
    for alias in node.names:
        name = f"{module}.{alias.name}"
        names.add(name if name in FILES else module)
    return names


def _place_of(child: ast.AST, parent: ast.AST, place: Place) -> Place:
    """Return the place of what is in a child, by the place of its parent."""
    if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return "function"
    is_for_types = isinstance(parent, ast.If) and "TYPE_CHECKING" in ast.unparse(parent.test) and child in parent.body
    return "types" if is_for_types else place


def test_modules_import_only_what_their_layers_may() -> None:
    forbidden: list[str] = []
    for module, file in FILES.items():
        source = file.read_text(encoding="utf-8")
        forbidden += forbidden_imports(module, source, is_package=file.name == "__init__.py")
    assert forbidden == []


def imported_modules(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for each module those of the modules that it imports: anywhere, in functions and for types as well."""
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        is_package = FILES.get(module, Path(module)).name == "__init__.py"
        names = {imported.name for imported in imports_of(module, source, is_package=is_package)}
        graph[module] = (names & sources.keys()) - {module}
    return graph


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one circle of imports, the first one again at the end; none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    sources = {module: file.read_text(encoding="utf-8") for module, file in FILES.items()}
    assert circle_in(imported_modules(sources)) == []


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("muntin_engine.backends.spark.operators.bucket_processor", "muntin_engine.tasks.bucket_task"),
        ("muntin_engine.evaluators.contracts", "muntin_engine.wire.task_payload"),
    ],
    ids=["in a function", "for types"],
)
def test_imports_in_functions_and_for_types_count_in_circles(module: str, imported: str) -> None:
    sources = {name: FILES[name].read_text(encoding="utf-8") for name in (module, imported)}
    assert imported in imported_modules(sources)[module]


@pytest.mark.parametrize(
    "import_back",
    [
        "from muntin.triggers.trigger import TriggerView",
        "def late():\n    import muntin.triggers.trigger",
        "if TYPE_CHECKING:\n    from muntin.triggers import trigger",
    ],
    ids=["in the module", "in a function", "for types"],
)
def test_a_circle_is_found_wherever_its_imports_are(import_back: str) -> None:
    sources = {
        "muntin.triggers.trigger": "from muntin.windows import kind",
        "muntin.windows.kind": "from muntin.axis import Axis",
        "muntin.axis": import_back,
    }
    assert set(circle_in(imported_modules(sources))) == set(sources)
    assert circle_in(imported_modules(sources | {"muntin.axis": ""})) == []


def test_every_distribution_has_files_to_check() -> None:
    assert len(SOURCES) >= 5
    for source in SOURCES:
        assert any(source in file.parents for file in FILES.values()), f"{source} has no files"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("muntin.windows", "import pyspark"),
        ("muntin.windows", "def late():\n    import pandas"),
        ("muntin.windows", "from .testing import anything"),
        ("muntin.windows", "import muntin_engine"),
        ("muntin.windows.anything", "from muntin.modules.module import Module"),
        ("muntin.windows.anything", "def late():\n    from muntin.catalog import installed"),
        ("muntin.schemas.anything", "import numpy"),
        ("muntin.triggers.anything", "from muntin.catalog import installed"),
        ("muntin.testing.anything", "import hypothesis"),
        ("muntin.testing.laws", "from muntin_engine.time import anything"),
        ("muntin_engine.time.anything", "from ..wire import anything"),
        ("muntin_engine.time.anything", "from muntin_engine.backends.spark.session.local import local_session"),
        ("muntin_engine.plan.planner", "from muntin_engine.evaluators import declarations"),
        ("muntin_engine.plan.anything", "def late():\n    from muntin_engine.tasks import evaluator_registry"),
        ("muntin_engine.plan.anything", "if TYPE_CHECKING:\n    from muntin_engine.evaluators import contracts"),
        ("muntin_engine.tasks.map_task", "def late():\n    from pyspark.sql import functions"),
        ("muntin_engine.tasks.bucket_task", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("muntin_engine.workers.anything", "from muntin_engine.evaluators import contracts"),
        ("muntin_engine.modules.anything", "import numpy"),
        ("muntin_engine.wire.anything", "from muntin_engine.tasks import evaluator_registry"),
        ("muntin_engine.wire.anything", "from muntin_engine.tasks import bucket_task"),
        ("muntin_engine.evaluators.arrays.anything", "from muntin_engine.tasks import bucket_task"),
        (
            "muntin_engine.evaluators.arrays.values.anything",
            "from muntin_engine.evaluators.arrays.store import x",
        ),
        ("muntin_engine.evaluators.arrays.geometry.anything", "from muntin_engine.evaluators.arrays import machine"),
        ("muntin_engine.evaluators.declarations.anything", "import numpy"),
        ("muntin_engine.evaluators.declarations.anything", "from muntin_engine.tasks import evaluator_registry"),
        ("muntin_engine.time.anything", "from muntin_engine.testing import crash_everywhere"),
        ("muntin_engine.backends.local.anything", "def late():\n    import pyspark"),
        ("muntin_engine.api.query", "def late():\n    import pyspark"),
        ("muntin_engine.api.query", "def late():\n    from muntin_engine.backends.spark.session import local"),
        ("muntin_engine.errors", "from muntin_engine.api.query import events"),
        ("muntin_engine.backends.spark.anything", "def late():\n    from muntin_engine.api.events import events"),
        ("muntin_engine.backends.spark.anything", "def late():\n    from muntin_engine.sql_text import spark_errors"),
        ("muntin_engine.backends.spark.anything", "def late():\n    from muntin_engine.recording.replay import Replay"),
        ("muntin_engine.backends.spark.anything", "from muntin_engine.monitoring import batch_metrics"),
        ("muntin_engine.api.query", "if TYPE_CHECKING:\n    from muntin_engine.recording import replay"),
        ("muntin_engine.sinks.recordings.recording_writer", "from muntin_engine.recording import replay"),
        ("muntin_engine.sql_text.query_reading", "def late():\n    from muntin_engine.api.query import Query"),
        ("muntin_engine.sql_text.query_reading", "from pyspark.sql import DataFrame"),
        ("muntin_engine.sinks.anything", "from muntin_engine.api import query"),
        (
            "muntin_engine.sinks.anything",
            "def late():\n    from muntin_engine.backends.spark import dataframes",
        ),
        ("muntin_engine.backends.choosing", "def late():\n    from muntin_engine.backends.spark import spark_backend"),
        ("muntin_engine.packages.anything", "from muntin_engine.api.query import Query"),
        ("muntin_engine.monitoring.recent_batches", "from pyspark.sql.streaming import StreamingQuery"),
        ("muntin_cli.anything", "import muntin_engine"),
        ("muntin_stats.anything", "from muntin_engine import events"),
        ("muntin_stats.anything", "import muntin_patterns"),
    ],
)
def test_an_import_that_the_table_does_not_allow_is_reported(module: str, source: str) -> None:
    assert len(forbidden_imports(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("muntin.windows", "import dataclasses\nfrom muntin.axis import ticks"),
        (
            "muntin.modules.anything",
            "from muntin.windows import kind\ndef late():\n    from muntin.columnar import Array",
        ),
        ("muntin.testing.laws", "from muntin.modules.aggregate import Aggregate\nimport hypothesis.strategies"),
        ("muntin_engine.state.anything", "import msgpack\nfrom muntin_engine.time import changes"),
        ("muntin_engine.evaluators.arrays.anything", "import numpy\nfrom muntin_engine.time import anything"),
        (
            "muntin_engine.evaluators.arrays.store.anything",
            "from muntin_engine.evaluators.arrays.values import x",
        ),
        ("muntin_engine.evaluators.arrays.anything", "from muntin_engine.evaluators.arrays.geometry import anything"),
        ("muntin_engine.backends.spark.anything", "from muntin_engine.backends.planned_query import PlannedQuery"),
        ("muntin_engine.backends.spark.anything", "import pyspark, numpy\nfrom muntin_engine.wire import anything"),
        ("muntin_engine.api.query", "def late():\n    from muntin_engine.backends import choosing"),
        ("muntin_engine.api.query", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("muntin_engine.monitoring.terminal_panels", "import rich.table"),
        ("muntin_cli.anything", "import typer\nfrom muntin import testing\ndef late():\n    import muntin_engine"),
        ("muntin_stats.anything", "import numpy\nfrom muntin import Aggregate\nfrom . import other"),
    ],
)
def test_what_the_table_allows_is_not_reported(module: str, source: str) -> None:
    assert forbidden_imports(module, source) == []
