"""A program for test_session: two sessions that cannot start; it prints the error and the log of each as JSON."""

from __future__ import annotations

import json

from muntin_engine.backends.spark.session.local import local_session
from muntin_engine.errors import SparkStartError


def start_with(setting: str, value: str) -> list[str]:
    """Start a session with a setting, and return the message of the error and its log; nothing if it starts."""
    try:
        local_session(conf={setting: value})
    except SparkStartError as error:
        return [str(error), str(error.log)]
    return []


if __name__ == "__main__":
    no_jvm = start_with("spark.driver.extraJavaOptions", "-Xms1000g")  # more than the machine has
    no_spark = start_with("spark.driver.memory", "100m")  # less than Spark needs
    print(json.dumps({"no JVM": no_jvm, "no Spark": no_spark}))
