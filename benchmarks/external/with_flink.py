"""Flink's Table API with an aggregate of its own: no Python runs."""

from __future__ import annotations

from benchmarks.external.task import run_task
from benchmarks.external.with_pyflink import compute_built_in

if __name__ == "__main__":
    run_task(compute_built_in, "apache-flink")
