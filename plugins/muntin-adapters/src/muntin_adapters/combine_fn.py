"""Beam's combine functions as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.prepared import Prepared, nothing
from muntin_adapters.recipes import records_recipe

_METHODS: Final = ("create_accumulator", "add_input", "merge_accumulators", "extract_output")


@records_recipe
def from_combine_fn(combine_fn: object, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of a combine function, as Apache Beam has them.

    A function has `create_accumulator()`, `add_input(accumulator, value)`, `merge_accumulators(accumulators)`, which
    becomes `combine`, and `extract_output(accumulator)`. Where they are defined, `add_inputs(accumulator, values)` gets
    all new payloads at once, and `compact(accumulator)` is called before a state is kept. `setup()` is called where the
    module is first used, on the worker, and `teardown()` when it is dropped or its process ends in good order. There
    are no side inputs.

    Args:
        combine_fn: Class, whose constructor's parameters a query may give; or an instance.
        options: See `AdapterOptions`.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class Mean:
        ...     def create_accumulator(self):
        ...         return 0.0, 0
        ...     def add_input(self, accumulator, value: float):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def merge_accumulators(self, accumulators):
        ...         totals, counts = zip(*accumulators)
        ...         return sum(totals), sum(counts)
        ...     def extract_output(self, accumulator) -> float:
        ...         return accumulator[0] / accumulator[1]
        >>> mean = from_combine_fn(Mean, name="demo.mean", version="1.0.0")()
        >>> mean.compute_result(mean.add_events(mean.create_state(), [1.0, 2.0, 6.0]))
        3.0
    """
    check_options(options)
    foreign = Foreign(combine_fn, options["name"], "a combine function, as Beam has them", ("CombineFn",))
    foreign.require(*_METHODS)

    def make(*arguments: object, **parameters: object) -> _CombineFn:
        return _CombineFn(foreign.make(*arguments, **parameters))

    return adapt(
        foreign,
        make,
        payload=foreign.payload_type(options.get("input"), "add_input", "accumulator"),
        result=foreign.result_type(options.get("result"), "extract_output"),
        capabilities={"combine": True},
        options=options,
    )


class _CombineFn:
    """An `Accumulation` by a combine function of Beam."""

    def __init__(self, combine_fn: object) -> None:
        start = getattr(combine_fn, "setup", nothing)
        stop = getattr(combine_fn, "teardown", nothing)
        self._prepared = Prepared(combine_fn, start, stop)

    def create(self) -> Any:
        return self._prepared.code.create_accumulator()

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Add payloads, all in one call if the combine function can do that."""
        combine_fn = self._prepared.code
        if hasattr(combine_fn, "add_inputs"):
            return self._compact(combine_fn.add_inputs(accumulator, payloads))
        for payload in payloads:
            accumulator = combine_fn.add_input(accumulator, payload)
        return self._compact(accumulator)

    def combine(self, accumulator: Any, other: Any) -> Any:
        return self._compact(self._prepared.code.merge_accumulators([accumulator, other]))

    def result(self, accumulator: Any) -> Any:
        return self._prepared.code.extract_output(accumulator)

    def _compact(self, accumulator: object) -> Any:
        """Return an accumulator made small, where the combine function can do that: it is stored next."""
        compact = getattr(self._prepared.code, "compact", None)
        return accumulator if compact is None else compact(accumulator)
