"""A program for test_session: two sessions that cannot start, and what the errors say."""

from __future__ import annotations

import json

from muntin_engine.backends.spark.session.local import local_session
from muntin_engine.errors import SparkStartError


def rejection(setting: str, value: str) -> list[str]:
    try:
        local_session(conf={setting: value})
    except SparkStartError as error:
        return [str(error), str(error.log)]
    return []


if __name__ == "__main__":
    no_jvm = rejection("spark.driver.extraJavaOptions", "-Xms1000g")
    no_spark = rejection("spark.driver.memory", "100m")
    print(json.dumps({"no JVM": no_jvm, "no Spark": no_spark}))
