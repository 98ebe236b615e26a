"""Reading the settings of workers from a session."""

from __future__ import annotations

from typing import Final

from muntin.modules.stream_operator import MOST_WAKE_UPS
from muntin_engine.backends.spark.session.kinds import AnySession
from muntin_engine.backends.spark.session.settings import read_setting
from muntin_engine.errors import SetupError
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.key_patterns import MOST_PATTERNS
from muntin_engine.state.store_cache import CACHE_BYTES
from muntin_engine.workers.traces_folder import remove_dead_traces, traces_folder

CACHE: Final = "spark.muntin.cache.bytes"
"""The setting for how much decoded state a worker keeps between micro-batches."""

WAKE_UPS: Final = "spark.muntin.wakeups.limit"
"""The setting for how many wake-ups of a key an operator may have in a micro-batch, besides one per event."""

PATTERNS: Final = "spark.muntin.patterns.limit"
"""The setting for how many patterns of keys may be complete beyond the watermark."""

OVERFLOW: Final = "spark.muntin.overflow.fail"
"""The setting that is `true` where a result that its column cannot hold fails the micro-batch."""


def settings_of(spark: AnySession) -> WorkerSettings:
    """Read the worker settings of a session, for a query that is built.

    Raises:
        SetupError: A setting has a value that is none of its type.
    """
    remove_dead_traces()  # files of processes that have ended, in the folder that is named below
    return WorkerSettings(
        cache_bytes=int(_number(spark, CACHE, CACHE_BYTES)),
        traces_folder=traces_folder(),
        most_wake_ups=int(_number(spark, WAKE_UPS, MOST_WAKE_UPS)),
        most_patterns=int(_number(spark, PATTERNS, MOST_PATTERNS)),
        overflow_fails=_flag(spark, OVERFLOW),
    )


def _flag(spark: AnySession, setting: str) -> bool:
    """Return the value of a setting that is true or false; false if it is not set.

    Raises:
        SetupError: The value is neither.
    """
    value = read_setting(spark, setting, "false")
    if value.lower() not in ("true", "false"):
        raise SetupError(f"{setting} is {value!r}\n  expected: true or false")
    return value.lower() == "true"


def _number(spark: AnySession, setting: str, default: float) -> float:
    """Return the value of a setting that is a number, and not negative.

    Raises:
        SetupError: The value is no such number.
    """
    text = read_setting(spark, setting, str(default))
    try:
        number = float(text)
    except ValueError:
        number = -1.0  # refused below, as negative numbers are
    if not 0 <= number < float("inf"):
        raise SetupError(f"{setting} is {text!r}\n  expected: a number that is not negative, such as {default:g}")
    return number
