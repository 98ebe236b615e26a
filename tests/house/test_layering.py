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

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "sdk/src", ROOT / "engine/src", ROOT / "cli/src", *sorted(ROOT.glob("plugins/*/src")))
FILES = {
    ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): file
    for source in SOURCES
    for file in sorted(source.rglob("*.py"))
    if "template" not in file.parts  # a copy of it is tested under the name that it gets
}
PLUGINS = tuple(sorted(package.name for package in ROOT.glob("plugins/*/src/*") if package.is_dir()))


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    anywhere: tuple[str, ...]
    in_functions: tuple[str, ...] = ()
    for_types: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def allows(self, imported: str, place: str) -> bool:
        extra = {"function": self.in_functions, "types": self.for_types}.get(place, ())
        if _is_in(imported, self.never):
            return False
        return "*" in self.anywhere or _is_in(imported, (*self.anywhere, *extra, *sys.stdlib_module_names))


SDK = ("muntin", "packaging", "typing_extensions")
PLANNING = ("muntin_engine.errors", "muntin_engine.plan")
SHIPPING = (*SDK, "muntin_engine.errors", "muntin_engine.shipping")
CALLED_BY_USERS = tuple(f"muntin_engine.api.{name}" for name in ("events", "functions", "module", "outputs", "query"))
STATE = (*SDK, "muntin_engine.core", "muntin_engine.errors", "muntin_engine.state")
PLAIN = (*SDK, *PLANNING, "muntin_engine.core", "muntin_engine.progress", "muntin_engine.state")
MONITORING = (*SDK, "muntin_engine.errors", "muntin_engine.metrics", "muntin_engine.monitoring", "muntin_engine.needed")
ARRAYS = ("muntin_engine.wire", "numpy", "pyarrow")
KEYED = "muntin_engine.evaluators.keyed"
ON_ARRAYS = "muntin_engine.evaluators.arrays"
DECLARATIONS = "muntin_engine.evaluators.declarations"
WITH_ARRAYS = (
    f"{KEYED}.keyed_evaluator",
    f"{KEYED}.result_tables",
    "muntin_engine.evaluators.general.evaluator",
    "muntin_engine.evaluators.joins.evaluator",
    "muntin_engine.evaluators.ordered.evaluator",
    "muntin_engine.evaluators.ordered.stateless",
)
ASKED_BY_TASKS = tuple(f"muntin_engine.evaluators.{name}" for name in ("batch", "contracts", "registry"))
TESTING = ("muntin.testing", "pytest", "hypothesis")
RECORDINGS_READ = tuple(
    module
    for module in FILES
    if module.startswith("muntin_engine.recording.") and not module.startswith("muntin_engine.recording.writing")
)
LEAVES = ("muntin_engine.monitoring", "muntin_engine.sql_text", *RECORDINGS_READ)
LAYERS = (
    Layer("muntin", (*SDK, "pluggy"), never=TESTING),
    Layer("muntin.columnar", (*SDK, "numpy"), never=TESTING),
    Layer("muntin.testing", (*SDK, "pluggy", "hypothesis", "pytest", "numpy")),
    Layer("muntin_engine.core", (*PLAIN, "sortedcontainers", "msgpack"), never=TESTING),
    Layer("muntin_engine.progress", (*SDK, "muntin_engine.core", "muntin_engine.progress"), never=TESTING),
    Layer("muntin_engine.state", (*STATE, "msgpack"), never=TESTING),
    *(Layer(name, (*PLAIN, "sortedcontainers"), never=TESTING) for name in PLANNING),
    Layer(DECLARATIONS, (*PLAIN, DECLARATIONS), never=TESTING),
    Layer("muntin_engine.evaluators", (*PLAIN, *ARRAYS, "muntin_engine.evaluators"), never=TESTING),
    Layer(KEYED, (*PLAIN, KEYED, "muntin_engine.evaluators.batch", "sortedcontainers"), never=TESTING),
    *(
        Layer(
            f"muntin_engine.evaluators.{name}", (*PLAIN, KEYED, f"muntin_engine.evaluators.{name}", "sortedcontainers")
        )
        for name in ("general", "joins", "ordered")
    ),
    Layer(ON_ARRAYS, (*PLAIN, *ARRAYS, "muntin_engine.evaluators", "msgpack"), never=TESTING),
    Layer("muntin_engine.evaluators.pairing", (*PLAIN, *ARRAYS, "muntin_engine.evaluators"), never=TESTING),
    Layer("muntin_engine.evaluators.revised", (*PLAIN, *ARRAYS, "muntin_engine.evaluators", "msgpack"), never=TESTING),
    *(Layer(name, (*PLAIN, *ARRAYS, "muntin_engine.evaluators"), never=TESTING) for name in WITH_ARRAYS),
    Layer(
        "muntin_engine.workers",
        (*PLAIN, "muntin_engine.workers"),
        never=TESTING,
    ),
    Layer("muntin_engine.wire", (*PLAIN, *ARRAYS), never=TESTING),
    Layer(
        "muntin_engine.tasks",
        (
            *(*PLAIN, *ARRAYS, *ASKED_BY_TASKS, "muntin_engine.metrics"),
            *("muntin_engine.tasks", "muntin_engine.workers"),
        ),
        never=TESTING,
    ),
    Layer("muntin_engine.recording.writing.recorder", (*SDK, "muntin_engine.writing"), never=TESTING),
    Layer(
        "muntin_engine.recording.writing",
        (
            *(*PLAIN, "muntin_engine.metrics", "muntin_engine.recording.writing"),
            *("muntin_engine.tasks", "muntin_engine.wire", "pyarrow"),
        ),
        never=TESTING,
    ),
    Layer(
        "muntin_engine.recording",
        (
            *(*PLAIN, *ARRAYS, "muntin_engine.evaluators", "muntin_engine.metrics", "muntin_engine.recording"),
            "muntin_engine.tasks",
        ),
        never=TESTING,
    ),
    Layer("muntin_engine.needed", (*SDK, "muntin_engine.errors"), never=TESTING),
    Layer("muntin_engine.monitoring", MONITORING, never=TESTING),
    Layer("muntin_engine.monitoring.terminal", (*MONITORING, "rich"), never=TESTING),
    *(
        Layer(f"muntin_engine.monitoring.{name}", (*MONITORING, f"muntin_engine.spark.{hook}"), never=TESTING)
        for name, hook in (("metrics_listener", "progress_listener"), ("observer", "observed_queries"))
    ),
    Layer("muntin_engine.monitoring.watching", MONITORING, for_types=("rich",), never=TESTING),
    Layer("muntin_engine.monitoring.prometheus", MONITORING, for_types=("prometheus_client",), never=TESTING),
    Layer("muntin_engine.monitoring.opentelemetry", MONITORING, for_types=("opentelemetry",), never=TESTING),
    Layer(
        "muntin_engine.writing",
        (*SDK, "muntin_engine.errors", "muntin_engine.needed", "muntin_engine.writing"),
        in_functions=("muntin_engine.spark", "pyarrow"),
        for_types=("pyspark", "muntin_engine.spark", "pyarrow"),
        never=TESTING,
    ),
    *(
        Layer(
            f"muntin_engine.writing.{name}",
            (*SDK, "muntin_engine.needed", "muntin_engine.writing"),
            in_functions=(package, "pyarrow"),
            for_types=("pyarrow",),
            never=TESTING,
        )
        for name, package in (("delta_lake_table", "deltalake"), ("iceberg_table", "pyiceberg"))
    ),
    Layer(
        "muntin_engine.shipping",
        SHIPPING,
        in_functions=("muntin_engine.spark",),
        for_types=("pyspark", "muntin_engine.spark", "muntin_engine.api.query"),
        never=TESTING,
    ),
    Layer("muntin_engine.shipping.worker_report", SHIPPING, in_functions=("pyarrow",), never=TESTING),
    Layer("muntin_engine.testing.streaming", ("*",)),
    Layer("muntin_engine.testing", (*PLAIN, *TESTING, *ARRAYS, "muntin_engine.evaluators", "muntin_engine.testing")),
    *(
        Layer(f"muntin_engine.testing.{name}", (*SDK, "muntin_engine", "pyarrow"), never=("pyspark",))
        for name in ("arrow_batch", "sink_laws", "sink_stream")
    ),
    Layer("muntin_engine.spark", ("*",), never=(*TESTING, *PLUGINS, *CALLED_BY_USERS, *LEAVES)),
    Layer(
        "muntin_engine.spark.stateful",
        ("pyspark",),
        in_functions=("muntin_engine.spark", "muntin_engine.state", "muntin_engine.tasks", "muntin_engine.wire"),
        for_types=("muntin_engine.state", "muntin_engine.wire"),
    ),
    Layer(
        "muntin_engine.sql_text",
        (*(*SDK, "sqlglot", "muntin_engine.sql_text", "muntin_engine.api", "muntin_engine.needed"),),
        in_functions=("muntin_engine.spark",),
        for_types=("pyspark", "muntin_engine.spark"),
        never=TESTING,
    ),
    Layer(
        "muntin_engine.api",
        (
            *(*SHIPPING, *PLANNING, "muntin_engine.api"),
            *("muntin_engine.core.lifetimes", "muntin_engine.core.source_rules", DECLARATIONS),
            *("muntin_engine.monitoring.observer", "muntin_engine.needed"),
        ),
        in_functions=("muntin_engine.spark",),
        for_types=(
            *("pyarrow", "pyspark", "muntin_engine.recording.writing", "muntin_engine.spark", "muntin_engine.writing"),
        ),
        never=TESTING,
    ),
    Layer(  # `to_sql` is a method of a query, so it asks for the leaf that writes SQL
        "muntin_engine.api.text.has_text",
        (*SDK, "muntin_engine.api", "muntin_engine.needed"),
        in_functions=("muntin_engine.sql_text.writing",),
        for_types=("pyspark",),
        never=TESTING,
    ),
    Layer(
        "muntin_engine",
        (*SHIPPING, *PLANNING, "muntin_engine.api", "muntin_engine.monitoring", "muntin_engine.writing"),
        for_types=("muntin_engine.recording", "muntin_engine.spark", "muntin_engine.sql_text"),
        never=TESTING,
    ),
    Layer(
        "muntin_cli",
        (*SDK, "muntin.testing", "muntin_cli", "packaging", "rich", "typer"),
        in_functions=("muntin_engine", "yaml"),
        for_types=("muntin_engine.plan", "muntin_engine.recording"),
    ),
    *(
        Layer(
            f"muntin_cli.{name}",
            (*SDK, "muntin_cli", "rich", "typer"),
            in_functions=("muntin_engine", "pyarrow", "pyspark"),
            for_types=("muntin_engine.api", "pyspark"),
        )
        for name in ("querying", "commands.query")
    ),
    Layer("muntin_cli.probes", (*SDK, "pytest")),
    Layer("muntin_adapters", (*SDK, "muntin_adapters"), never=TESTING),
    *(
        Layer(f"muntin_adapters.{name}", (*SDK, "muntin_adapters", "numpy"), never=TESTING)
        for name in ("python_value", "combinators.all_of_form", "combinators.default_form")
    ),
    Layer("muntin_adapters.series", (*SDK, "muntin_adapters", "numpy", "pandas"), never=TESTING),
    *(Layer(own, ("*",), never=("muntin_engine", "pyspark", *(set(PLUGINS) - {own}))) for own in PLUGINS),
)


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def layer_of(module: str) -> Layer:
    return max((layer for layer in LAYERS if _is_in(module, (layer.name,))), key=lambda layer: len(layer.name))


def broken_rows(module: str, source: str, is_package: bool = False) -> list[str]:
    """Return one line per import that the module's layer does not allow."""
    layer = layer_of(module)
    package = module if is_package else module.rpartition(".")[0]
    found = _imports(ast.parse(source), package, "module")
    return [f"{module}:{line} imports {name}" for name, line, place in found if not layer.allows(name, place)]


def _imports(node: ast.AST, package: str, place: str) -> Iterator[tuple[str, int, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, node.lineno, place) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((name, node.lineno, place) for name in _imported_names(node, package))
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, package, _place_of(child, node, place))


def _imported_names(node: ast.ImportFrom, package: str) -> set[str]:
    """A name is a module of ours, or else it is something in the module it is imported from."""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    module = ".".join([*parents, *([node.module] if node.module else [])])
    return {name if (name := f"{module}.{alias.name}") in FILES else module for alias in node.names}


def _place_of(child: ast.AST, parent: ast.AST, place: str) -> str:
    if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return "function"
    is_for_types = isinstance(parent, ast.If) and "TYPE_CHECKING" in ast.unparse(parent.test) and child in parent.body
    return "types" if is_for_types else place


def test_modules_import_only_what_their_layers_may() -> None:
    broken = [
        row
        for module, file in FILES.items()
        for row in broken_rows(module, file.read_text(encoding="utf-8"), file.name == "__init__.py")
    ]
    assert broken == []


def imported_by(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for each module which others of them it imports: anywhere, in functions and for types as well."""
    packages = {module for module in sources if FILES.get(module, Path(module)).name == "__init__.py"}
    return {
        module: {
            name
            for name, _, _ in _imports(
                ast.parse(source), module if module in packages else module.rpartition(".")[0], "module"
            )
            if name in sources and name != module
        }
        for module, source in sources.items()
    }


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one circle of imports, the first one again at the end; none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = imported_by({module: file.read_text(encoding="utf-8") for module, file in FILES.items()})
    assert "muntin_engine.spark.planning" in graph["muntin_engine.api.query"], "imports in functions are counted"
    assert "muntin_engine.wire.task_payload" in graph["muntin_engine.evaluators.contracts"], (
        "imports for types are counted"
    )
    assert circle_in(graph) == []


@pytest.mark.parametrize(
    "back",
    [
        "from muntin.triggers.trigger import TriggerView",
        "def late():\n    import muntin.triggers.trigger",
        "if TYPE_CHECKING:\n    from muntin.triggers import trigger",
    ],
)
def test_a_circle_is_found_wherever_its_imports_are(back: str) -> None:
    sources = {
        "muntin.triggers.trigger": "from muntin.windows import kind",
        "muntin.windows.kind": "from muntin.axis import Axis",
        "muntin.axis": back,
    }
    assert set(circle_in(imported_by(sources))) == set(sources)
    assert circle_in(imported_by(sources | {"muntin.axis": ""})) == []


def test_every_distribution_has_files_to_check() -> None:
    assert len(SOURCES) >= 5
    assert [source for source in SOURCES if not any(source in file.parents for file in FILES.values())] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("muntin.windows", "import pyspark"),
        ("muntin_adapters.anything", "import pandas"),
        ("muntin.windows", "def late():\n    import pandas"),
        ("muntin.windows", "from .testing import anything"),
        ("muntin.windows", "import muntin_engine"),
        ("muntin.testing.laws", "from muntin_engine.core import anything"),
        ("muntin_engine.core.anything", "from ..wire import anything"),
        ("muntin_engine.core.anything", "from muntin_engine.spark.session.local import local_session"),
        ("muntin_engine.plan.planner", "from muntin_engine.evaluators import declarations"),
        ("muntin_engine.plan.anything", "def late():\n    from muntin_engine.evaluators import registry"),
        ("muntin_engine.plan.anything", "if TYPE_CHECKING:\n    from muntin_engine.evaluators import contracts"),
        ("muntin_engine.tasks.map_task", "def late():\n    from pyspark.sql import functions"),
        ("muntin_engine.tasks.bucket_task", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("muntin_engine.workers.anything", "from muntin_engine.wire import task_payload"),
        ("muntin_engine.wire.anything", "from muntin_engine.evaluators import registry"),
        ("muntin_engine.wire.anything", "from muntin_engine.tasks import bucket_task"),
        ("muntin_engine.evaluators.arrays.anything", "from muntin_engine.tasks import bucket_task"),
        ("muntin_engine.evaluators.declarations.anything", "import numpy"),
        ("muntin_engine.evaluators.declarations.anything", "from muntin_engine.evaluators import registry"),
        ("muntin_engine.evaluators.general.anything", "import numpy"),
        ("muntin_engine.testing.anything", "from muntin_engine.spark import task"),
        ("muntin_engine.core.anything", "from muntin_engine.testing import crash_everywhere"),
        ("muntin_engine.api.query", "from muntin_engine.spark.session import local"),
        ("muntin_engine.api.query", "def late():\n    import pyspark"),
        ("muntin_engine.errors", "from muntin_engine.api.query import events"),
        ("muntin_engine.spark.anything", "def late():\n    from muntin_engine.api.events import events"),
        ("muntin_engine.spark.anything", "def late():\n    from muntin_engine.sql_text import spark_errors"),
        ("muntin_engine.spark.anything", "def late():\n    from muntin_engine.recording.replay import Replay"),
        ("muntin_engine.spark.anything", "from muntin_engine.monitoring import batch_metrics"),
        ("muntin_engine.monitoring.running", "from muntin_engine.spark import observed_queries"),
        ("muntin_engine.api.query", "if TYPE_CHECKING:\n    from muntin_engine.recording import replay"),
        ("muntin_engine.recording.writing.writer", "from muntin_engine.recording import replay"),
        ("muntin_engine.api.query", "def late():\n    from muntin_engine.sql_text import writing"),
        ("muntin_engine.sql_text.reading", "from pyspark.sql import DataFrame"),
        ("muntin_engine.writing.anything", "from muntin_engine.spark import changelog"),
        ("muntin_engine.shipping.anything", "from muntin_engine.api.query import Query"),
        ("muntin_engine.monitoring.running", "import rich"),
        ("muntin_engine.monitoring.recent_batches", "from pyspark.sql.streaming import StreamingQuery"),
        ("muntin_cli.anything", "import muntin_engine"),
        ("muntin_cli.anything", "def late():\n    import pyspark"),
        ("muntin_stats.anything", "from muntin_engine import events"),
        ("muntin_stats.anything", "import muntin_patterns"),
    ],
)
def test_a_broken_row_is_reported(module: str, source: str) -> None:
    assert len(broken_rows(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("muntin.windows", "import dataclasses, typing_extensions"),
        ("muntin.testing.laws", "from muntin import Aggregate\nimport hypothesis.strategies"),
        ("muntin_engine.core.anything", "import msgpack\nfrom sortedcontainers import SortedDict"),
        ("muntin_engine.evaluators.arrays.anything", "import numpy\nfrom muntin_engine.core import anything"),
        ("muntin_engine.spark.anything", "from muntin_engine.api.planned_query import PlannedQuery"),
        ("muntin_engine.spark.anything", "import pyspark, numpy\nfrom muntin_engine.wire import anything"),
        ("muntin_engine.api.query", "def late():\n    from muntin_engine.spark.session import local"),
        ("muntin_engine.api.query", "if TYPE_CHECKING:\n    from pyspark.sql import DataFrame"),
        ("muntin_engine.monitoring.terminal", "import rich.table"),
        ("muntin_cli.anything", "import typer\nfrom muntin import testing\ndef late():\n    import muntin_engine"),
        ("muntin_stats.anything", "import numpy\nfrom muntin import Aggregate\nfrom . import other"),
    ],
)
def test_what_the_table_allows_is_not_reported(module: str, source: str) -> None:
    assert broken_rows(module, source) == []
