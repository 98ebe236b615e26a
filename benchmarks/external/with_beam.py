"""Apache Beam on the runner that comes with it: windows and `CombinePerKey`."""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import window
from apache_beam.utils.timestamp import Duration, Timestamp

import benchmarks.external.task
from benchmarks.external.task import Answers, Task, microseconds, run_task
from benchmarks.windows import Hopping, Session, Windows


class Collect(beam.DoFn):
    """Takes the results. It is copied on its way; what it takes them to is a global of a module, and is not."""

    def process(self, element: tuple[int, float], window: Any = beam.DoFn.WindowParam) -> None:
        """Take one result."""
        key, value = element
        benchmarks.external.task.current.add(key, int(window.start.micros), value)


def compute(task: Task, answers: Answers) -> None:
    """Run the pipeline."""
    benchmarks.external.task.current = answers
    combine = beam.combiners.MeanCombineFn() if task.question.aggregate == "average" else max
    options = PipelineOptions(["--runner=DirectRunner", "--direct_running_mode=in_memory", "--direct_num_workers=1"])
    with beam.Pipeline(options=options) as pipeline:
        (
            pipeline
            | beam.Create([task])
            | beam.FlatMap(timed_rows)
            | beam.WindowInto(window_of(task.question.windows))
            | beam.CombinePerKey(combine)
            | beam.ParDo(Collect())
        )


def timed_rows(task: Task) -> Any:
    """Yield the rows with their times."""
    for key, at, value in task.rows():
        yield window.TimestampedValue((key, value), Timestamp(micros=microseconds(at)))


def window_of(windows: Windows) -> Any:
    """Return windows as Beam has them.

    Elements exactly the gap apart are in two sessions, so it is a millisecond longer: coders cut windows to that.
    """
    if isinstance(windows, Session):
        return window.Sessions(Duration(windows.gap, 1000))
    assert isinstance(windows, Hopping)
    return window.SlidingWindows(windows.size, windows.hop)


if __name__ == "__main__":
    run_task(compute, "apache-beam")
