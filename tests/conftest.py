"""What tests of every folder share: one Spark session for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import settings
from packaging.utils import canonicalize_name

from muntin.testing.laws import trial
from release.distributions import distributions
from tests.quick_choice import EXAMPLES, evenly_spread, hide_java, is_quick, some_cases, uses_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

ROOT: Final = Path(__file__).parent.parent

_STREAMING: Final = "spark.sql.streaming"
QUICK: Final = {
    # These streams have few rows, and every partition is a task, a worker and a state store more per micro-batch.
    "spark.sql.shuffle.partitions": "1",
    # Without Hadoop's native library every file in a checkpoint is made with calls of the programs chmod and readlink.
    # These two make fewer; stories with a session of their own (kills, the demo, torture) run with Spark's defaults.
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    f"{_STREAMING}.checkpoint.fileChecksum.enabled": "false",
    # Queries of the tests have more pieces of generated code in common than fit into a cache of a hundred; and of each
    # execution Spark writes down the plan, for listeners that nobody has.
    "spark.sql.codegen.cache.maxEntries": "20000",
    "spark.sql.ui.explainMode": "simple",
    # Every task makes code for the sums of metrics and for its rows; to interpret them costs less, for so few.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Else each call that makes a column tells the JVM from where, in ten messages; a query takes a hundred columns.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings of the session that save processor time in every micro-batch and change no result."""


PROGRAMS: Final = (
    "tests/docs/tutorial/",
    "tests/engine/backends/spark/session/",
    "tests/engine/backends/spark/delivery/test_shipping",
    "tests/engine/backends/spark/test_client_alone",
)
"""How the names of tests begin that start programs, each with a JVM of its own."""

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")
with suppress(ModuleNotFoundError):  # the oldest Hypothesis that the laws run with draws no literals
    providers: Any = import_module("hypothesis.internal.conjecture.providers")
    # Else it draws literals of the modules that are loaded, and examples depend on the tests that a process ran before.
    providers._get_local_constants = providers.Constants
USERS: Final = {"SETTINGS": trial.SETTINGS, "CROWDED": trial.CROWDED}
"""How laws are tried where users run them."""
# The examples are the same in every run, so the first of them have told most; `make torture` draws modules and windows.
trial.SETTINGS = settings(trial.SETTINGS, max_examples=5)
trial.CROWDED = settings(trial.CROWDED, max_examples=2)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options by which `make quick`, `make nightly` and `make test` choose tests."""
    parser.addoption("--quick", action="store_true", help="run the tests that take no Spark and little time")
    parser.addoption("--nightly", action="store_true", help="run what `make test` leaves out, for its time")
    parser.addoption("--daily", action="store_true", help="leave it out although files are named")


def pytest_configure(config: pytest.Config) -> None:
    """Make the run quick, if it is to be; and name a distribution that was added since the environment was made.

    Without the name, a hundred imports would fail.
    """
    if config.getoption("quick"):
        settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=EXAMPLES)
        settings.load_profile("quick")
        folder = TemporaryDirectory(prefix="no-java-")
        config.add_cleanup(folder.cleanup)
        hide_java(Path(folder.name))
    installed = {canonicalize_name(str(dist.name)) for dist in metadata.distributions()}
    missing = [distribution for name, distribution in distributions().items() if name not in installed]
    if missing:
        names = ", ".join(distribution.name for distribution in missing)
        options = " ".join(f"--editable ./{distribution.folder.relative_to(ROOT)}" for distribution in missing)
        raise pytest.UsageError(f"not installed: {names}\n  to do: make test, or pip install {options}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `make quick` does not run, before it is imported."""
    is_left_out = config.getoption("quick") and collection_path.suffix == ".py" and not is_quick(collection_path)
    return True if is_left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with what takes longest, so that no process works alone at the end: Spark, then programs with their own.

    The processes refuse tests whose names differ between them, which a run by one process would not show.
    """
    names_with_addresses = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if names_with_addresses:
        raise pytest.UsageError(
            f"{names_with_addresses[0]} is another name in each process\n  to do: ids=tests.naming.spelled"
        )
    chosen = chosen_items(config, items)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
    # False sorts first, so those that use Spark do.
    items.sort(key=lambda item: (not uses_spark(file_of(item.nodeid)), not item.nodeid.startswith(PROGRAMS)))


def chosen_items(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that a run is of: the quick ones, the nightly ones, or those of `make test`.

    Where files or tests are named, all of these run.
    """
    if config.getoption("quick"):
        return quick_items(items)
    nightly = nightly_items(items)
    if config.getoption("nightly"):
        return nightly
    if is_whole(config):
        return {*items} - nightly
    return {*items}


def is_whole(config: pytest.Config) -> bool:
    """Return whether a run is that of `make test`: no tests are named, or it is asked for."""
    if config.getoption("daily"):
        return True
    worker_input: dict[str, bool] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        return worker_input["is_whole"]
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Tell each process of a run what only the first one knows: the others are started with names of tests."""
    node.workerinput["is_whole"] = is_whole(node.config)


def nightly_items(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that `make test` leaves out: those that are marked so, and some cases of others."""
    nightly = {item for item in items if item.get_closest_marker("nightly")}
    items_with_some_cases = [item for item in items if item.get_closest_marker("cases")]
    for cases in cases_by_test(items_with_some_cases).values():
        marker = cases[0].get_closest_marker("cases")
        assert marker is not None
        (daily_count,) = marker.args
        nightly |= {*cases} - {*evenly_spread(cases, daily_count)}
    return nightly


def quick_items(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that `make quick` runs: those of the first seed, and of each test some cases."""
    daily = [item for item in items if not item.get_closest_marker("nightly")]
    of_first_seed = [item for item in daily if seed_of(item) == 0]
    quick: set[pytest.Item] = set()
    for test, cases in cases_by_test(of_first_seed).items():
        quick.update(some_cases(file_of(test), cases))
    return quick


def cases_by_test(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Return the cases of each test, by its name without parameters."""
    cases_of: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases_of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases_of


def seed_of(item: pytest.Item) -> int:
    """Return the seed that a test is repeated with, 0 if it is not repeated."""
    case = getattr(item, "callspec", None)
    seed = case.params.get("seed", 0) if case else 0
    return seed if isinstance(seed, int) else 0


def file_of(nodeid: str) -> str:
    """Return the file of a test, as a path from the root of the repository."""
    return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Where processes share a run, give one of them all tests of the Spark session, and the others whole files."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if uses_spark(file_of(nodeid)) else file_of(nodeid)

    return Scheduler(config, log)


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what mypy knows of other packages, which all processes of a run share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "mypy"


@pytest.fixture
def tried_as_by_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have laws tried on as many examples as where users run them: so many find the fault of a hostile module."""
    for name, value in USERS.items():
        monkeypatch.setattr(trial, name, value)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of a test run, quiet, with everybody's settings and a JVM in a hurry."""
    from muntin_engine.backends.spark.session.local import local_session, stop_session
    from tests.quick_spark.drivers import quick_drivers
    from tests.quick_spark.files import leave_permissions
    from tests.quick_spark.jvm import OPTIONS, home
    from tests.quick_spark.names import remembered_names

    os.environ.update(home())
    folder = tmp_path_factory.mktemp("spark")
    conf = {"spark.driver.extraJavaOptions": OPTIONS, **QUICK}
    session = local_session("muntin tests", log=folder / "spark.log", conf=conf)
    leave_permissions(session)
    with quick_drivers(session, folder), remembered_names():
        yield session
    stop_session(session)
