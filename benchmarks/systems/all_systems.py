"""Every system by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.systems.group_state_pandas import GroupStatePandas
from benchmarks.systems.hot_key import HotKeyInProcess
from benchmarks.systems.in_pandas import InPandas
from benchmarks.systems.in_process import GeneralIncremental, GeneralWhole, OpenWindow
from benchmarks.systems.muntin_columnar import MuntinColumnar
from benchmarks.systems.muntin_general import MuntinGeneral, MuntinGrouped
from benchmarks.systems.muntin_in_order import MuntinInOrder
from benchmarks.systems.muntin_sliced import MuntinSliced
from benchmarks.systems.muntin_streams import MuntinStreams
from benchmarks.systems.muntin_whole import MuntinFunction, MuntinWhole
from benchmarks.systems.on_cores import OnCores
from benchmarks.systems.recorded import Recorded, Written
from benchmarks.systems.script import Script, ScriptSystem
from benchmarks.systems.snapshots_in_process import HopsInProcess, SnapshotsInProcess
from benchmarks.systems.spark_sql import SparkSql
from benchmarks.systems.spark_window import SparkWindow
from benchmarks.systems.static import MUNTIN_STATIC, PandasUdf, SparkStatic
from benchmarks.systems.system import System
from benchmarks.systems.tilt_in_process import TiltInProcess
from benchmarks.systems.together import OneByOne, OnePass
from benchmarks.systems.tws_pandas import TransformWithStatePandas
from benchmarks.systems.tws_rows import TransformWithStateRows
from benchmarks.windows import Calendar, Hopping, LastRows, Session

SCRIPTS: Final = (
    Script(
        "flink",
        "pyflink.table",
        5_000_000,
        "on its mini cluster, started in the time, with its built-in aggregate: no Python runs",
        (Hopping, Session),
    ),
    Script("bytewax", "bytewax", 1_000_000, "in two threads of one process, folding in Python"),
    Script("pathway", "pathway", 1_000_000, "in one process, with its built-in reducers"),
    Script("beam", "apache_beam", 1_000_000, "on its direct runner, in one process"),
    Script(
        "pyflink",
        "pyflink.table",
        200_000,
        "on its mini cluster, started in the time, with a Python aggregate",
        (Hopping, Session, Calendar, LastRows),
    ),
)
"""Systems that may be installed in environments of their own."""


def all_systems(environments: Mapping[str, str]) -> dict[str, System]:
    """Return all systems by their names.

    Args:
        environments: Paths of interpreters, by the name of the system that is installed there.
    """
    here: tuple[System, ...] = (
        MuntinColumnar(),
        MuntinSliced(),
        MuntinGrouped(),
        MuntinGeneral(),
        MuntinWhole(),
        MuntinFunction(),
        MuntinInOrder(),
        SparkWindow(),
        TransformWithStateRows(),
        TransformWithStatePandas(),
        GroupStatePandas(),
        GeneralWhole(),
        GeneralIncremental(),
        SnapshotsInProcess(),
        HopsInProcess(),
        HotKeyInProcess(),
        OpenWindow(),
        *MUNTIN_STATIC,
        SparkStatic(),
        PandasUdf(),
        *(OnCores(system, cores) for system in (MuntinColumnar(), SparkWindow()) for cores in (1, 2)),
        MuntinStreams(),
        SparkSql(),
        OnePass(),
        OneByOne(),
        Written(),
        Recorded(),
        InPandas(),
        TiltInProcess(),
    )
    elsewhere = (ScriptSystem(script, environments.get(script.name)) for script in SCRIPTS)
    return {system.name: system for system in (*here, *elsewhere)}
