"""The columnar forms of a query's modules, bound to its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import Component, Merge
from muntin.columnar import Ragged, identities
from muntin.columnar.arrays import Array, IntArray, PayloadArrays
from muntin.columnar.merging import contributions
from muntin.columnar.payloads import DTYPES
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin.modules.columnar_aggregate import Form
from muntin.schemas import Field, Scalar, Struct
from muntin.schemas.components import ColumnarState
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.modules.meter import Meter
from muntin_engine.modules.skipping import forbids_null
from muntin_engine.plan.plan import Plan
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.sums import Sums, finished
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.value_flags import flags, forbidden_nulls

T = TypeVar("T")

PAYLOADS: Final = ""
"""The name, among the components of a form, of the number of payloads that were lifted."""

_AS_FORM_SAYS: Final = Ellipsis
"""Stands for the empty result that the form itself declares: None may be one."""


class LiftedArrays(NamedTuple):
    """What a form made of rows.

    Attributes:
        arrays: An array for each stored component, by name.
        accepted_rows: The places of the rows that these are of; None if they are of all rows.
    """

    arrays: Mapping[str, Array]
    accepted_rows: IntArray | None


@dataclass(frozen=True)
class BoundForm:
    """The form of one module, and the places of its payloads.

    Attributes:
        form: The form.
        label: The module, by name and version.
        columns: The places of its columns among the inputs of the query.
        reads: The type that the module reads of each column. Several are the fields of a record.
        components: The components of the form's states.
        meter: Measures its calls.
        empty_result: The result for a window all of whose payloads were left out; by default that of the form.
    """

    form: Form
    label: str
    columns: tuple[int, ...]
    reads: tuple[Field, ...]
    components: Mapping[str, Component] = field(init=False)
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
    empty_result: object = _AS_FORM_SAYS

    def __post_init__(self) -> None:
        """Ask the form for its components, once; and for its empty result, unless the query has another one."""
        if self.empty_result is _AS_FORM_SAYS:
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
        """Upgrade partial states that an older version of the module wrote.

        Args:
            states: The partial states as plain data, as the older version kept them.
            version: The older version.

        Returns:
            The stored components of each state, by name.

        Raises:
            ModuleFailedError: The form raised an exception, or left a component out.
        """
        form: Any = self.form

        def upgrade_all() -> list[dict[str, object]]:
            """Upgrade the states one by one; `_call` measures all of these calls together."""
            upgraded_states: list[dict[str, object]] = []
            for state in states:
                upgraded_state = form.upgrade_state(state, version)
                components = upgraded_state["kept"]  # the values by component; a state also counts its payloads
                upgraded_states.append({name: components[name] for name in self.stored})
            return upgraded_states

        return self._call("upgrade_state", upgrade_all)

    def lift(self, inputs: Sequence[pa.Array], length: int) -> LiftedArrays:
        """Lift rows: to an array for each component, with the value that each row contributes.

        Args:
            inputs: All columns of the query.
            length: The number of rows.

        Raises:
            ModuleFailedError: The form raised an exception.
            ModuleContractError: The form returned arrays of other types or shapes than it declares.
        """
        module_inputs = [inputs[place] for place in self.columns]
        columns, reads = self._fields(module_inputs)  # of each part of a payload, with the type that is read of it
        accepted_rows = self._accepted(module_inputs, columns, length)
        if accepted_rows is not None:
            columns = [column.take(arrow_array(accepted_rows)) for column in columns]
            length = len(accepted_rows)
        if not length:  # a form is never called without rows
            no_values = {name: identities(component, 0) for name, component in self.stored.items()}
            return LiftedArrays(no_values, accepted_rows)
        payloads = self._payloads(columns, reads)
        arrays = self._call("lift", lambda: contributions(self.form, payloads, length))
        return LiftedArrays(arrays, accepted_rows)

    def results(self, components: Mapping[str, Array | Sums | Ragged], payloads: IntArray) -> Array:
        """Compute the results of n windows: an array of n results, whose masked entries are null.

        Args:
            components: The merged values of each stored component, by name: an array of n values, `Sums`, or a `Ragged`
                array of n groups.
            payloads: The number of payloads of each window.

        Raises:
            ModuleFailedError: The form raised an exception.
            ModuleContractError: The form returned another number of results.
        """
        with np.errstate(all="ignore"):  # overflows and NaN are values, as in Spark
            arrays: dict[str, Array | Ragged] = {}
            for name, values in components.items():
                if isinstance(values, Sums):
                    arrays[name] = finished(self.components[name], values, payloads)
                else:
                    arrays[name] = values
            # A count is not stored: it is the number of payloads.
            for name, component in self.components.items():
                if component.merge is Merge.COUNT:
                    arrays[name] = payloads
            results: Array = self._call("compute_results", lambda: self.form.compute_results(arrays))
        if np.shape(results) != (len(payloads),):
            raise ModuleContractError(
                f"{self.label} returned results of the shape {np.shape(results)} from compute_results\n"
                f"  expected: {(len(payloads),)}, one per window"
            )
        return results

    def _accepted(self, inputs: Sequence[pa.Array], parts: Sequence[pa.Array], length: int) -> IntArray | None:
        """Find the rows that the form takes: return their places, or None if it takes all rows.

        Args:
            inputs: The columns that the module reads.
            parts: The columns of a payload's parts, as `_fields` returns them.
            length: The number of rows.
        """
        is_left_out = np.zeros(length, np.bool_)
        for column, reads in zip(inputs, self.reads, strict=True):
            # A null within a struct, list or map is not in the `null_count` of the column: such a column is searched.
            if forbids_null(reads) and (column.null_count or pa.types.is_nested(column.type)):
                is_left_out |= forbidden_nulls(column, reads)
        if self.form.skips_nulls:
            for part in parts:
                if part.null_count:
                    is_left_out |= flags(pc.is_null(part))
        return np.flatnonzero(~is_left_out) if is_left_out.any() else None

    def _fields(self, columns: list[pa.Array]) -> tuple[list[pa.Array], tuple[Field, ...]]:
        """Return the columns of a payload's parts, and the type of each part.

        Usually these are the columns that the module reads. If it reads a single column of structs, the parts are the
        fields of the struct.

        Args:
            columns: The columns that the module reads.
        """
        if len(self.reads) != 1:
            return columns, self.reads
        struct = self.reads[0].type
        if not isinstance(struct, Struct):
            return columns, self.reads
        field_columns = [pc.struct_field(columns[0], part.name) for part in struct.fields]
        return field_columns, struct.fields

    def _payloads(self, columns: Sequence[pa.Array], reads: Sequence[Field]) -> PayloadArrays:
        """Return the payloads for `lift`: None without columns, one array, or the array of each field of a record.

        Args:
            columns: The columns of a payload's parts.
            reads: The type of each part.
        """
        if not columns:
            return None
        # A single column is a record, too, if the form declares a record of one field.
        if len(columns) == 1 and not isinstance(self.form.input_field().type, Struct):
            return self._array(columns[0], reads[0])
        arrays: dict[str, Array] = {}
        for part, column in zip(reads, columns, strict=True):
            arrays[part.name] = self._array(column, part)
        return arrays

    def _array(self, column: pa.Array, reads: Field) -> Array:
        """Return a column as an array; for a form that sees nulls, as one in which nulls are masked."""
        array = array_of(column, reads)
        if self.form.skips_nulls:  # rows with nulls were left out by `_accepted`
            return array
        return np.ma.MaskedArray(array, mask=flags(column.is_null()))

    def _call(self, method: str, function: Callable[[], T]) -> T:
        """Call a method of the form, measure the call, and name the module in its error.

        Args:
            method: The name of the method, for the error.
            function: Calls the method.

        Raises:
            ModuleFailedError: The method raised an exception.
            ModuleContractError: The method raised this error.
        """
        CURRENT_CALL.set_module(self.label)
        started = self.meter.now()
        try:
            return function()
        except ModuleContractError as error:
            raise ModuleContractError(f"{self.label}: {error}") from error
        except BaseException as error:  # an exit, too, is the module's failure
            name = self.label.partition(" ")[0]
            # The form was called for many keys at once. `failing_row` and `failing_window` look for the one at fault.
            failed = ModuleFailedError(
                name, self.version, key="all of a batch", window=None, method=method, cause=error
            )
            raise failed from safe_cause(error)
        finally:
            self.meter.since(started)


def bound_forms(plan: Plan, meters: Sequence[Meter]) -> tuple[BoundForm, ...]:
    """Return the forms of a query's modules, bound to its columns; each module has one.

    Args:
        plan: The query, which is computed with forms.
        meters: The meter of each module's calls.
    """
    forms: list[BoundForm] = []
    for module, meter in zip(plan.modules, meters, strict=True):
        assert module.form is not None, "the planner chooses this way only if all modules have forms"
        forms.append(
            BoundForm(
                form=module.form,
                label=module.label,
                columns=module.columns,
                reads=module.bound_reads,
                meter=meter,
                empty_result=module.empty_result,
            )
        )
    return tuple(forms)


def forms_of(task: TaskPayload) -> tuple[BoundForm, ...]:
    """Return the forms of a task's modules; for `TaskPayload.once`."""
    return bound_forms(task.plan, task.meters)


def failing_row(form: BoundForm, inputs: Sequence[pa.Array], length: int) -> int | None:
    """Return the place of a row for which a form's `lift` fails; None if it fails only for several rows together.

    Args:
        form: The form, which failed to lift the rows.
        inputs: All columns of the query.
        length: The number of rows.
    """

    def lift_rows(start: int, stop: int) -> None:
        """Lift the rows from `start` up to but not including `stop`."""
        form.lift([column.slice(start, stop - start) for column in inputs], stop - start)

    return first_failing(length, lift_rows)


def first_failing(length: int, call: Callable[[int, int], object]) -> int | None:
    """Find a place for which a call fails, by halving; return None if it fails only for several places together.

    Args:
        length: The number of places; the call for all of them has failed.
        call: The call for the places from its first argument up to but not including its second.
    """

    def fails(start: int, stop: int) -> bool:
        """True if the call fails for the places from `start` up to but not including `stop`."""
        try:
            call(start, stop)
        except ModuleFailedError:
            return True
        return False

    # The call fails for the places from `low` up to `high`. If it does not fail for the first half, the second half is
    # taken to fail; whether that is so for the one place that is left is tried in the end.
    low = 0
    high = length
    while high - low > 1:
        half = (low + high) // 2
        if fails(low, half):
            high = half
        else:
            low = half
    if not length or not fails(low, high):
        return None
    return low


def array_of(column: pa.Array, reads: Field) -> Array:
    """Return a column as the array that `ColumnarAggregate.lift` gets; values under nulls are unspecified.

    Args:
        column: The column.
        reads: The type that the module reads.
    """
    dtype = DTYPES.get(reads.type.kind) if isinstance(reads.type, Scalar) else None
    if dtype is None:  # values that NumPy has no type for are Python objects
        values = np.empty(len(column), object)
        values[:] = column.to_pylist()
        return values

    # Arrow would turn integers with nulls into floats. So nulls are filled: with the first value of the column that is
    # not null, or with zero if there is none.
    if column.null_count == len(column):
        return np.zeros(len(column), dtype)
    if column.null_count:
        column = column.fill_null(column.drop_null()[0])
    array: Array = numpy_array(column)
    is_time = dtype.startswith(("datetime64", "timedelta64"))
    if is_time and array.dtype == np.int64:
        return array.view(dtype)
    return array.astype(dtype, copy=False)
