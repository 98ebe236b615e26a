"""The session of a program: the session that it was submitted to, or else a quiet one on this machine."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.private_parts import active_context, gateway
from muntin_engine.backends.spark.session.classic import HAS_CLASSIC_SPARK, Py4JError
from muntin_engine.backends.spark.session.java import find_java, spark_java_home
from muntin_engine.backends.spark.session.jvm import LOOPBACK, end_jvm, jvm_is_dead, log_tail, start_context
from muntin_engine.backends.spark.session.preconditions import QUERY_SETTINGS, prepare_session
from muntin_engine.backends.spark.session.settings import read_setting, set_where_allowed
from muntin_engine.errors import SessionConflictError, SetupError, SparkStartError

LOG_SETTING: Final = "spark.muntin.log"
"""The setting of a local session that holds the path of its log file."""

_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_LOG4J: Final = Path(__file__).with_name("log4j2.properties").as_uri()
_HAS_CONNECTED: Final = "SPARK_CONNECT_MODE_ENABLED"
"""A variable that PySpark sets when it opens a session of Spark Connect."""
_SET_BY_SPARK: Final = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", _HAS_CONNECTED)
"""Variables that are set where Spark runs already: by `spark-submit`, by users of Spark Connect and by PySpark."""


def spark_session(name: str = "muntin") -> SparkSession:
    """Return the session that this program is to run in, ready for queries.

    If a session runs already, as in a notebook of a platform, it is that one. Under `spark-submit`, and if
    `SPARK_REMOTE` names a server of Spark Connect, it is a session there. Each of these is prepared by
    `prepare_session`. Otherwise it is a `local_session`, so that the same program runs with `python` and with
    `spark-submit`.

    Args:
        name: The application's name, if its session starts now.

    Raises:
        JavaNotFoundError, SparkStartError, SetupError: A local session cannot start.
    """
    connect_session = _connect_session()
    if connect_session is not None:
        return prepare_session(connect_session)
    if jvm_is_dead():
        end_jvm()  # PySpark has to forget it
    if active_context() is not None:
        return prepare_session(SparkSession.builder.getOrCreate())
    if any(variable in os.environ for variable in _SET_BY_SPARK):
        return prepare_session(SparkSession.builder.appName(name).getOrCreate())
    return local_session(name)


def local_session(
    name: str = "muntin", cores: int = 2, log: str | Path | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Return this process's Spark session on this machine, started if there is none.

    It runs on the Java that `find_java` finds. Nothing of its start-up reaches the terminal: the JVM and the Python
    workers write to a log file. If a session runs already, that session is returned. Then only the settings that can
    change while a session runs are set.

    Args:
        name: The application's name.
        cores: The number of tasks that run at a time, and of the state partitions of a new query unless `conf` sets it.
        log: The file to add the log to; a new temporary file by default, named by `spark.conf.get("spark.muntin.log")`.
        conf: Settings that are added to those of `local_settings`, or replace them, such as
            `{"spark.driver.memory": "2g"}`.

    Raises:
        JavaNotFoundError: There is no Java 17 or newer.
        SparkStartError: The JVM or Spark in it did not start; the error says why and names the log.
        SessionConflictError: A session is running that differs in settings which cannot change while it runs.
        SetupError: PySpark is here as the client of Spark Connect alone.
    """
    if not HAS_CLASSIC_SPARK:
        raise SetupError(
            "Spark cannot be started here: pyspark-client is installed, which talks to Spark Connect servers alone\n"
            "  expected: pyspark, which has Spark in it; or a server to connect to\n"
            "  set SPARK_REMOTE to its address, such as sc://localhost:15002, and call spark_session()"
        )
    settings = local_settings(name, cores, conf or {})
    if log is not None:
        settings[LOG_SETTING] = os.path.abspath(log)
    if jvm_is_dead():
        end_jvm()
    return _start(settings) if active_context() is None else _adapt(settings)


def _connect_session() -> SparkSession | None:
    """Return the session of Spark Connect that this process has opened, if there is one.

    PySpark's own builder finds it only if `SPARK_REMOTE` names its server as well.
    """
    if _HAS_CONNECTED not in os.environ:
        return None
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    try:
        return cast("SparkSession", ConnectSession.active())
    except PySparkRuntimeError:  # it was stopped
        return None


def stop_session(spark: SparkSession) -> None:
    """Stop a session and end the JVM that was started for it, so that the next session starts afresh.

    It is no error if the session is stopped already or its JVM was killed. A JVM that this process did not start,
    as under `spark-submit`, goes on.
    """
    if not jvm_is_dead():
        with suppress(Py4JError, OSError), warnings.catch_warnings(action="ignore"):
            spark.stop()  # it may warn of queries that are running
    end_jvm()


def local_settings(name: str, cores: int, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a local session.

    The settings in `conf` replace the default ones; only its Java options are added to the default options.
    """
    defaults = {
        "spark.app.name": name,
        "spark.master": f"local[{cores}]",
        "spark.python.daemon.module": "muntin_engine.backends.spark.daemon",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        **QUERY_SETTINGS,
    }
    # What the JVM itself prints, such as a warning, goes where its standard error goes: to the log, not the terminal.
    java_options = f"-XX:+DisplayVMOutputToStderr -Dlog4j2.configurationFile={_LOG4J} {conf.get(_JAVA_OPTIONS, '')}"
    return {**defaults, **conf, _JAVA_OPTIONS: java_options.strip()}


def _start(settings: Mapping[str, str]) -> SparkSession:
    """Start a JVM with a session in it.

    Raises:
        JavaNotFoundError: There is no Java 17 or newer.
        SparkStartError: The JVM or Spark in it did not start.
    """
    end_jvm()  # the JVM of a stopped session has another log, and perhaps other memory
    java_home = spark_java_home(find_java())
    log = Path(settings.get(LOG_SETTING) or _new_log())
    try:
        start_context({**settings, LOG_SETTING: str(log)}, java_home, log)
    except (PySparkException, Py4JError) as error:
        # If the JVM is alive, the error says why Spark did not start. If it has ended, only its log says so.
        has_jvm = gateway() is not None and not jvm_is_dead()
        reason = root_cause(error) if has_jvm else log_tail(log)
        failure = SparkStartError(java_home, log, reason)
        end_jvm()
        raise failure from None  # the original would ask the JVM for its text, which has ended
    return SparkSession.builder.getOrCreate()


def _new_log() -> str:
    """Make a temporary file for a log, and return its path."""
    file, path = tempfile.mkstemp(prefix="muntin-spark-", suffix=".log")
    os.close(file)
    return path


def _adapt(settings: Mapping[str, str]) -> SparkSession:
    """Return the session that runs, after setting the settings that can change while it runs.

    Raises:
        SessionConflictError: The session has another value of a setting that cannot change while it runs.
    """
    spark = SparkSession.builder.getOrCreate()
    changeable: dict[str, str] = {}
    differences: dict[str, tuple[str | None, str]] = {}
    for key, value in settings.items():
        if spark.conf.isModifiable(key):
            changeable[key] = value
        elif key != "spark.app.name":  # only a name: a session with another one does as well
            current = read_setting(spark, key, default=None)
            if not _has_value(key, current, value):
                differences[key] = (current, value)
    if differences:
        raise SessionConflictError(differences)
    set_where_allowed(spark, changeable)
    return spark


def _has_value(key: str, current: str | None, value: str) -> bool:
    """Return True if a setting has a value; of Java options, if it has all of them, as Spark adds some of its own.

    Args:
        key: The name of the setting.
        current: Its value in the session; None if it is not set.
        value: The value that it should have.
    """
    if key == _JAVA_OPTIONS:
        return set(value.split()) <= set((current or "").split())
    return current == value
