"""Aggregates that are computed for all keys and windows at once, on arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, cast

from typing_extensions import TypeVar

from muntin.errors import ModuleDefinitionError
from muntin.modules.module import Module
from muntin.schemas import Field
from muntin.schemas.components import ColumnarState, Component

In = TypeVar("In")
Out = TypeVar("Out")


class ColumnarAggregate(Module, ABC, Generic[In, Out]):
    """Reduce a window to one value by array functions, each called once for very many rows, keys and windows.

    Define the `components` of the state, the contribution of each payload to them (`lift`), and how results are
    computed from them (`compute_results`). The engine does the remaining work: it merges the contributions of a key per
    slice where the rows are, sends and stores only the merged ones, and makes all windows of all keys from them in a
    few passes.

    Payloads come as NumPy arrays:

    | input type | array type |
    |---|---|
    | `bool` | `bool` |
    | `int`, `Instant` | `int64` |
    | `float` | `float64` |
    | `datetime` | `datetime64[us]`, in UTC |
    | `date` | `datetime64[D]` |
    | `timedelta` | `timedelta64[us]` |
    | others | `object`, of Python values |
    | a record | a mapping from field name to array |

    Nulls, and records with a null field, are left out beforehand; with `skips_nulls = False` they come as masked
    entries of a `numpy.ma.MaskedArray`.

    The class can also be used as an incremental aggregate, with one payload at a time if need be, so it runs over every
    kind of windows and under every policy. Where the engine uses it so, it is slower than an `IncrementalAggregate`. It
    needs NumPy, which the engine brings, as does the extra `columnar` of `muntin-sdk`.

    A new version with other components defines `upgrade_state(state, version) -> state`, so that queries can continue
    from checkpoints of older versions. The method is called once per key and slice that is read back. A state is plain
    data, `{"payloads": n, "kept": {component: value}}`, where n is the number of payloads that were lifted. A vector is
    a nested list, collected values are a list, a time is an integer, and a sum of floats is an exact fraction, or a
    float if it is not finite.

    Laws (checked by `muntin.testing.ColumnarAggregateLaws`):

    1. *Rows are independent.* Lifting two batches one after the other equals lifting them together, in any order.
    2. *Merging is associative and commutative*, `identity` changes nothing, and an inverse undoes a merge exactly.
    3. *Results are independent.* The result of a window does not depend on the windows that are computed with it.
    4. *Arrays are read-only.*

    Cost: one call of `lift` per batch of rows, and one of `compute_results` per micro-batch and task; a state has one
    value of each component per key and slice.

    Attributes:
        skips_nulls: True if null payloads, and payloads with a null field, are left out.
        empty_result: The result of a window of which all payloads were left out.

    Example:
        >>> import numpy as np
        >>> class Mean(ColumnarAggregate[float, float]):
        ...     name, version = "demo.mean", "1.0.0"
        ...     def components(self):
        ...         return {"total": Component.sum(), "count": Component.count()}
        ...     def lift(self, payloads):
        ...         return {"total": payloads}
        ...     def compute_results(self, components):
        ...         return components["total"] / components["count"]
        >>> mean = Mean()
        >>> mean.compute_result(mean.add_events(mean.create_state(), [1.0, 2.0, 6.0]))
        3.0
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "result")
    is_incremental: ClassVar[bool] = True
    skips_nulls: ClassVar[bool] = True
    empty_result: ClassVar[Any] = None

    if TYPE_CHECKING:  # a type checker compares an optional method with this; at run time a class has it or not

        @property
        def upgrade_state(self) -> Callable[[Any, str], dict[str, Any]] | None:
            """Return the state of this version for a state that an older version wrote into a checkpoint; optional."""

    @abstractmethod
    def components(self) -> Mapping[str, Component]:
        """Return the components by name, the same in each call: they are part of the layout of a checkpoint."""

    @abstractmethod
    def lift(self, payloads: Any) -> Mapping[str, Any]:
        """Return the contribution of each payload to each component.

        Args:
            payloads: The n payloads, as the class describes them; n may be 0. None if the query gives the module no
                column.

        Returns:
            An array of n values for each component that is not a count, by the component's name. The first axis has
            length n, the others have the component's shape. The type is the component's or one that NumPy casts to it
            as `same_kind`; no entry is masked.
        """

    @abstractmethod
    def compute_results(self, components: Mapping[str, Any]) -> Any:
        """Return the results of n windows.

        Args:
            components: The values of the n windows for each component, by its name: an array, or for collected values a
                `Ragged`.

        Returns:
            An array of n results of the declared type, with one axis: a list or a record is an element of an array of
            type `object`. Masked entries of a `numpy.ma.MaskedArray` and NaT are null.
        """

    @classmethod
    def check_definition(cls) -> None:
        """Refuse a class that cannot be used in a query.

        Raises:
            ModuleDefinitionError: As for `Module.check_definition`; or the class reads several inputs, or the order of
                events.
        """
        super().check_definition()
        if cls.reads_order:
            raise ModuleDefinitionError(
                f"{cls.name} reads the order, and the rows of an array are in none\n"
                "  subclass Aggregate or IncrementalAggregate, which get payloads in order"
            )
        inputs = cls.input_fields()
        if inputs:
            raise ModuleDefinitionError(
                f"{cls.name} reads {len(inputs)} inputs, and arrays are of one\n"
                "  subclass IncrementalAggregate, which gets the payloads of all inputs one by one"
            )

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form that runs on arrays: the module itself."""
        return self

    @classmethod
    def state_type(cls) -> object:
        """Return the annotation of the state that the incremental methods keep: plain values by component."""
        return dict[str, Any]

    # The incremental methods import NumPy when they are called: `import muntin` alone does without it.
    def create_state(self) -> ColumnarState:
        """Return the state of no payloads."""
        from muntin.columnar.single import create_state

        return create_state(self)

    def add_events(self, state: ColumnarState, payloads: Sequence[In]) -> ColumnarState:
        """Return the state with more payloads."""
        from muntin.columnar.single import add_events

        return add_events(self, state, payloads)

    def combine(self, state: ColumnarState, other: ColumnarState) -> ColumnarState:
        """Return the state of the payloads of two states."""
        from muntin.columnar.single import combine

        return combine(self, state, other)

    def compute_result(self, state: ColumnarState) -> Out:
        """Return the result of a state."""
        from muntin.columnar.single import compute_result

        return cast(Out, compute_result(self, state))


Form: TypeAlias = ColumnarAggregate[Any, Any]
"""A columnar aggregate, whatever it reads and returns."""
