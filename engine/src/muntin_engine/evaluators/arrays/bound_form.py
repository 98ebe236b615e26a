"""Columnar forms of a query's modules, bound to its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import Component, Merge
from muntin.columnar import Ragged, identities
from muntin.columnar.arrays import Array, IntArray, PayloadArrays
from muntin.columnar.merging import contributions
from muntin.columnar.payloads import DTYPES
from muntin.components import ColumnarState
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.modules.columnar_aggregate import Form
from muntin.safe_text import safe_cause
from muntin.schemas import Field, Scalar, Struct
from muntin_engine.core.calls import CURRENT_CALL, Meter
from muntin_engine.core.skipping import forbids_null
from muntin_engine.plan.plan import Plan
from muntin_engine.wire.sums import Sums, finished
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.value_flags import flags, forbidden_nulls

T = TypeVar("T")

PAYLOADS: Final = ""
"""The name, among the components of a form, of the number of payloads that were lifted."""

_OF_FORM: Final = Ellipsis


@dataclass(frozen=True)
class BoundForm:
    """The form of one module, and where its payloads are.

    Attributes:
        form: The form.
        label: The module that it is of, by name and version.
        columns: The places of its columns among the inputs of the query.
        reads: For each of them, what the module reads of it. Several are the fields of a record.
        components: What the form keeps.
        meter: Measures its calls.
        empty_result: The result for a window all of whose payloads were left out; by default what the form says.
    """

    form: Form
    label: str
    columns: tuple[int, ...]
    reads: tuple[Field, ...]
    components: Mapping[str, Component] = field(init=False)
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
    empty_result: object = _OF_FORM

    def __post_init__(self) -> None:
        if self.empty_result is _OF_FORM:
            object.__setattr__(self, "empty_result", self.form.empty_result)
        object.__setattr__(self, "components", dict(self.form.components()))

    @property
    def stored(self) -> dict[str, Component]:
        """The components that are lifted, and so must be stored."""
        return {name: part for name, part in self.components.items() if part.is_lifted}

    @property
    def version(self) -> str:
        """The version of the module."""
        return self.label.partition(" ")[2]

    def upgrade(self, states: Sequence[ColumnarState], version: str) -> list[dict[str, object]]:
        """Return by name what is kept today, for each partial state that an older version of the module wrote.

        Args:
            states: The partial states as plain data, as the older version kept them.
            version: That version.

        Raises:
            ModuleFailedError: The form raised an exception, or left a component out.
        """
        form: Any = self.form

        def upgrade_all() -> list[dict[str, object]]:
            kept = [form.upgrade_state(state, version)["kept"] for state in states]
            return [{name: some[name] for name in self.stored} for some in kept]

        return self._call("upgrade_state", upgrade_all)

    def lift(self, inputs: Sequence[pa.Array], length: int) -> tuple[dict[str, Array], IntArray | None]:
        """Lift the rows of a batch: return their contributions, and the places of the accepted ones.

        Args:
            inputs: All columns of the query.
            length: The number of rows.

        Returns:
            An array per stored component, and the places of the rows that were not left out; None for all of them.

        Raises:
            ModuleFailedError: The form raised an exception.
            ModuleContractError: It returned something else than it declares.
        """
        columns, reads = self._fields([inputs[place] for place in self.columns])
        places = self._accepted([inputs[place] for place in self.columns], columns, length)
        if places is not None:
            columns, length = [column.take(pa.array(places)) for column in columns], len(places)
        if not length:
            return {name: identities(part, 0) for name, part in self.stored.items()}, places
        payloads = self._payloads(columns, reads)
        return self._call("lift", lambda: contributions(self.form, payloads, length)), places

    def results(self, components: Mapping[str, Array | Sums | Ragged], payloads: IntArray) -> Array:
        """Return the results of n windows as an array, whose masked entries are null.

        Args:
            components: Arrays of n values, `Ragged` ones of n groups, or `Sums`, by name; without the counts.
            payloads: How many payloads each window has.
        """
        counts = {name: payloads for name, part in self.components.items() if part.merge is Merge.COUNT}
        with np.errstate(all="ignore"):
            kept = {
                name: finished(self.components[name], values, payloads) if isinstance(values, Sums) else values
                for name, values in components.items()
            }
            results: Array = self._call("compute_results", lambda: self.form.compute_results({**kept, **counts}))
        if np.shape(results) != (len(payloads),):
            raise ModuleContractError(
                f"{self.label} returned results of the shape {np.shape(results)} from compute_results\n"
                f"  expected: {(len(payloads),)}, one per window"
            )
        return results

    def _accepted(self, inputs: Sequence[pa.Array], parts: Sequence[pa.Array], length: int) -> IntArray | None:
        """Return the places of the rows that the module accepts and the form does not leave out; None for all."""
        is_left_out = np.zeros(length, np.bool_)
        for column, reads in zip(inputs, self.reads, strict=True):
            if forbids_null(reads) and (column.null_count or pa.types.is_nested(column.type)):
                is_left_out |= forbidden_nulls(column, reads)
        if self.form.skips_nulls:
            for part in parts:
                if part.null_count:
                    is_left_out |= flags(pc.is_null(part))
        return np.flatnonzero(~is_left_out) if is_left_out.any() else None

    def _fields(self, columns: list[pa.Array]) -> tuple[list[pa.Array], tuple[Field, ...]]:
        """Return the columns that hold a payload's parts: one column of structs has them inside."""
        struct = self.reads[0].type if len(self.reads) == 1 else None
        if not isinstance(struct, Struct):
            return columns, self.reads
        return [pc.struct_field(columns[0], part.name) for part in struct.fields], struct.fields

    def _payloads(self, columns: Sequence[pa.Array], reads: Sequence[Field]) -> PayloadArrays:
        if not columns:
            return None
        if len(columns) == 1 and not isinstance(self.form.input_field().type, Struct):
            return self._array(columns[0], reads[0])
        parts = zip(reads, columns, strict=True)
        return {part.name: self._array(column, part) for part, column in parts}

    def _array(self, column: pa.Array, reads: Field) -> Array:
        array = array_of(column, reads)
        return array if self.form.skips_nulls else np.ma.MaskedArray(array, flags(column.is_null()))

    def _call(self, method: str, function: Callable[[], T]) -> T:
        CURRENT_CALL.set_module(self.label)
        started = self.meter.now()
        try:
            return function()
        except ModuleContractError as error:
            raise ModuleContractError(f"{self.label}: {error}") from error
        except BaseException as error:  # an exit, too, is the module's failure
            name = self.label.partition(" ")[0]
            failed = ModuleFailedError(name, self.version, "all of a batch", None, method, error)
            raise failed from safe_cause(error)
        finally:
            self.meter.since(started)


def bound_forms(plan: Plan, meters: Sequence[Meter]) -> tuple[BoundForm, ...]:
    """Return the forms of a query's modules, bound to its columns; none if its evaluator computes without.

    Args:
        plan: The query.
        meters: What measures the calls of each module.
    """
    return tuple(
        BoundForm(module.form, module.label, module.columns, module.known, meter, module.empty_result)
        for module, meter in zip(plan.modules, meters, strict=True)
        if plan.choice.uses_forms and module.form is not None
    )


def forms_of(task: TaskPayload) -> tuple[BoundForm, ...]:
    """Return the forms of a task's modules; for `TaskPayload.once`."""
    return bound_forms(task.plan, task.meters)


def array_of(column: pa.Array, reads: Field) -> Array:
    """Return a column as `ColumnarAggregate.lift` wants it; values under nulls are unspecified."""
    dtype = DTYPES.get(reads.type.kind) if isinstance(reads.type, Scalar) else None
    if dtype is None:
        values = np.empty(len(column), object)
        values[:] = column.to_pylist()
        return values
    if column.null_count == len(column):
        return np.zeros(len(column), dtype)
    if column.null_count:
        column = column.fill_null(column.drop_null()[0])
    array: Array = column.to_numpy(zero_copy_only=False)
    return array.view(dtype) if array.dtype == np.int64 and dtype[0] in "dt" else array.astype(dtype, copy=False)
