"""Read and set the settings of a session, also where the session refuses most of that, as serverless platforms do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, TypeVar

from pyspark.errors import PySparkException

from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import has_ended
from muntin_engine.backends.spark.session.kinds import AnySession

LOG: Final = logging.getLogger("muntin.session")
"""The logger of what a session refuses."""

_D = TypeVar("_D", str, str | None)


def read_setting(spark: AnySession, name: str, default: _D, *, if_refused: _D | None = None) -> _D:
    """Return the value of a setting.

    Args:
        spark: The session.
        name: The setting.
        default: The value of a setting that is not set.
        if_refused: The value to return if the session refuses to tell the setting; None for the default.

    Raises:
        PySparkException, Py4JError: The session has ended.
    """
    try:
        value: _D = spark.conf.get(name, default)  # type: ignore[assignment]  # None only where it is the default
        return value
    except (PySparkException, Py4JError) as error:
        if has_ended(error):
            raise
        return default if if_refused is None else if_refused


def set_settings(spark: AnySession, settings: Mapping[str, str]) -> dict[str, str]:
    """Set settings, and return the reason for each setting that the session refuses.

    Raises:
        PySparkException, Py4JError: The session has ended.
    """
    refused: dict[str, str] = {}
    for name, value in settings.items():
        try:
            spark.conf.set(name, value)
        except (PySparkException, Py4JError) as error:
            if has_ended(error):
                raise
            refused[name] = str(error).partition("\n")[0]
    return refused


def set_where_allowed(spark: AnySession, settings: Mapping[str, str]) -> None:
    """Set settings that queries run without, and warn of those that the session refuses."""
    for name, reason in set_settings(spark, settings).items():
        LOG.warning("the session refuses %s=%s, so queries go on without it: %s", name, settings[name], reason)
