"""The names of systems, as tables and the command line have them."""

from __future__ import annotations

from typing import Final

COLUMNAR: Final = "muntin columnar"
SLICED: Final = "muntin sliced"
GROUPED: Final = "muntin grouped"
GENERAL: Final = "muntin general"
CLASS: Final = "muntin class"
FUNCTION: Final = "muntin function"
IN_ORDER: Final = "muntin in order"
SPARK: Final = "spark window"
TWS: Final = "transformWithState"
TWS_PANDAS: Final = "transformWithStateInPandas"
GROUP_STATE: Final = "applyInPandasWithState"
WHOLE: Final = "general, non-incremental"
STREAMS: Final = "muntin"
SQL: Final = "spark sql"
STREAMS_IN_PROCESS: Final = "muntin in process"
PANDAS: Final = "pandas"
ONE_PASS: Final = "muntin one pass"
ONE_BY_ONE: Final = "muntin one by one"
WRITTEN: Final = "muntin written"
RECORDED: Final = "muntin recorded"
SNAPSHOTS: Final = "columnar snapshots"
HOPS: Final = "columnar hops"
INCREMENTAL: Final = "general, incremental"
ELSEWHERE: Final = ("flink", "pathway", "bytewax", "beam", "pyflink")
FILES_ELSEWHERE: Final = dict.fromkeys(ELSEWHERE, 1) | {"flink": 3}
HOT: Final = "one hot key"
OPEN: Final = "general, open window"
STATIC: Final = "muntin static"
STATIC_KINDS: Final = ("muntin static, combine", "muntin static, class", "muntin static, function")
SPARK_STATIC: Final = "spark static window"
PANDAS_UDF: Final = "pandas_udf"
ONE_CORE: Final = "muntin columnar, 1 core"
TWO_CORES: Final = "muntin columnar, 2 cores"
SPARK_ONE_CORE: Final = "spark window, 1 core"
SPARK_TWO_CORES: Final = "spark window, 2 cores"
