"""The parts of PySpark that only an installation with Spark in it has.

`pyspark-client` talks to Spark Connect servers alone: it has no py4j, no Java and no context. The stand-ins here tell
the rest of the engine so: nobody raises the errors, and no context is ever active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
    from pyspark import SparkContext

    HAS_CLASSIC_SPARK: Final[bool] = True
else:
    try:
        from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
        from pyspark import SparkContext

        HAS_CLASSIC_SPARK = True
    except ImportError:
        HAS_CLASSIC_SPARK = False

        class Py4JError(Exception):
            """An error of the connection to a JVM."""

        class Py4JJavaError(Py4JError):
            """An exception of Java."""

        class Py4JNetworkError(Py4JError):
            """A connection to a JVM that broke."""

        class SparkContext:
            """The context of a classic session, of which there is none."""

            _active_spark_context: Any = None
            _gateway: Any = None
            _jvm: Any = None


__all__ = ["HAS_CLASSIC_SPARK", "Py4JError", "Py4JJavaError", "Py4JNetworkError", "SparkContext"]
