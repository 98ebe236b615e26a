"""What travels to the workers: the query, its modules and its schemas, as one run of bytes.

Modules are found on the driver and travel as cloudpickled instances inside bytes that a worker opens when the first
rows come. Spark starts a Python process on the driver for every stateful query, before any package shipped with the
session is importable there; that process must hold the bytes and never open them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark import cloudpickle

from muntin import Module, MuntinError
from muntin.schemas import Field
from muntin_engine.core.codec import Codec, records_in
from muntin_engine.core.query import WindowedQuery
from muntin_engine.errors import ModuleNotOnWorkerError, ShippingError

MOST_BYTES: Final = 900_000
"""A stateful operator's code must stay below 1 MB; what is larger becomes a broadcast, which it cannot read."""


@dataclass(frozen=True)
class Job:
    """Everything a worker needs to evaluate a query.

    Attributes:
        query: The query in the evaluator's terms.
        identity: What the state depends on.
        names: What refused rows call their columns: keys, id, start, end, change, new_end, inputs.
        keys: How many key columns there are.
        inputs: How many input columns there are.
        required: The places of the inputs that must not be null.
        instants: The places of the inputs that reach modules as ticks.
        delay: See `Plan.delay`.
        reach: See `Plan.reach`.
        is_point: True if events last one tick.
        is_static: True if the input is a static DataFrame, so that everything closes after its rows.
        buckets: The ids of the buckets.
        results: The Arrow schema of the results.
        outputs: The types of the modules' results.
        time_type: The Arrow type of times in the results.
    """

    query: WindowedQuery
    identity: Mapping[str, Any]
    names: Mapping[str, str]
    keys: int
    inputs: int
    required: tuple[int, ...]
    instants: tuple[int, ...]
    delay: int | None
    reach: int
    is_point: bool
    is_static: bool
    buckets: tuple[int, ...]
    results: pa.Schema
    outputs: tuple[Field, ...]
    time_type: pa.DataType

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the key and input columns in the projected input."""
        return tuple(f"k{place}" for place in range(self.keys)) + tuple(f"i{place}" for place in range(self.inputs))

    @cached_property
    def codec(self) -> Codec:
        """The codec for this query's state."""
        records: set[type] = set()
        for binding in self.query.bindings:
            records |= records_in(binding.module.state_type())
            records |= records_in(binding.module._types()["result"])
        return Codec(records)


def pack_job(job: Job) -> bytes:
    """Return a job as bytes.

    Raises:
        ShippingError: A module cannot be pickled, or the job is too large for a stateful operator.
    """
    try:
        data = bytes(cloudpickle.dumps(job))
    except Exception as error:
        raise ShippingError(f"the query's modules cannot travel to the workers: {error}", _modules(job)) from error
    if len(data) > MOST_BYTES:
        raise ShippingError(f"the query's modules take {len(data):,} bytes, more than {MOST_BYTES:,}", _modules(job))
    return data


def open_job(data: bytes) -> Job:
    """Return the job in some bytes; opened once per worker.

    Raises:
        ModuleNotOnWorkerError: A module's package is not installed where the worker runs.
    """
    name = hashlib.sha256(data).hexdigest()
    if name not in _opened:
        _opened[name] = _open(data)
    return _opened[name]


_opened: dict[str, Job] = {}


def _open(data: bytes) -> Job:
    try:
        job: Job = cloudpickle.loads(data)
    except MuntinError:
        raise
    except (ImportError, AttributeError) as error:
        raise ModuleNotOnWorkerError(str(error)) from error
    return job


def _modules(job: Job) -> list[Module]:
    return [binding.module for binding in job.query.bindings]
