"""`python -m benchmarks.on_cores`: run one system once on some cores, and print its run as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.data import Files
from benchmarks.question import Question
from benchmarks.session import end_session, spark_session, start_session
from benchmarks.streaming import run_stream, stream_of
from benchmarks.systems.all_systems import all_systems
from benchmarks.systems.on_cores import PARTS
from benchmarks.systems.system import SparkSystem


def main(task: str, *paths: str) -> None:
    """Bind this process, and with it the JVM and the workers that it starts, to the first cores, and run.

    Args:
        task: As JSON: the name of the system, the number of cores, the question, and a limit in seconds.
        paths: The files, in order, all in one folder.
    """
    told = json.loads(task)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: told["cores"]])
    system, question = all_systems({})[told["system"]], Question.from_data(told["question"])
    assert isinstance(system, SparkSystem), f"{told['system']} is no streaming query"
    files = Files(Path(paths[0]).parent, tuple(map(Path, paths)), 0)
    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        start_session(Path(folder) / "spark.log", told["cores"])
        try:
            df = system.results(stream_of(spark_session(), files, PARTS), question)
            run = run_stream(df, told["limit"], question.windows.reads)
        finally:
            end_session()
    sys.stdout.write(f"\n{json.dumps(asdict(run))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
