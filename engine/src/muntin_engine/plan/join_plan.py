"""A join in a plan: its kind, the columns of its results, and the condition that two events have to meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, TypeAlias

from muntin import Function, JoinKind
from muntin.definitions.methods import signature_of
from muntin.errors import ModuleContractError, ModuleError, ParameterError, QueryError, message_of
from muntin.errors.safe_text import safe_cause, safe_message, safe_repr
from muntin.modules.parameters import check_types, spell
from muntin.schemas import Field, Struct, describe
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.input_binding import bind_columns


@dataclass(frozen=True)
class PairCondition:
    """A condition on the payloads of a left and a right event.

    Attributes:
        function: The function, with its version.
        parameters: Its arguments that are no columns, by name.
        columns: For each argument that is a column, the number of the stream, 0 for the left one and 1 for the right,
            and the place of the column in the payload of that stream.
        select: Calls the function with a row of these columns, and returns its result; returns `SKIPPED` without a call
            if one of them is a null that the function does not accept.
        names: The names of the columns.
    """

    function: Function[..., object]
    parameters: Mapping[str, object]
    columns: tuple[tuple[int, int], ...]
    select: Callable[[tuple[Any, ...]], Any] = field(compare=False)
    names: tuple[str, ...] = ()

    def __call__(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
        """Return True if two events meet the condition; null counts as false.

        Args:
            left: The payload of the left event.
            right: The payload of the right event.

        Raises:
            ModuleError: The function raises an exception.
            ModuleContractError: The function returns something that is neither a boolean nor None.
        """
        payloads = (left, right)
        row = tuple([payloads[side][place] for side, place in self.columns])
        if CURRENT_CALL.label != self.label:
            CURRENT_CALL.set_module(self.label)  # a trace of this worker then says which function it is in
        try:
            is_met = self.select(row)  # calls the function
        except Exception as error:
            message = f"{self.label} failed: {safe_message(error)}\n  arguments: {safe_repr(row)}"
            raise ModuleError(message) from safe_cause(error)

        if is_met is None or is_met is SKIPPED:  # skipped: the function does not accept a null in the row
            return False
        if hasattr(is_met, "item"):  # a boolean of NumPy
            is_met = is_met.item()
        if not isinstance(is_met, bool):
            raise ModuleContractError(
                f"{self.label} returned {safe_repr(is_met)} for {safe_repr(row)}\n"
                "  expected: True, False, or None if that is not known, as events meet or do not"
            )
        return is_met

    @cached_property
    def label(self) -> str:
        """The name and the version of the function."""
        return f"{self.function.name} {self.function.version}"

    def __str__(self) -> str:
        arguments = list(self.names)
        arguments += [f"{name}={spell(value)}" for name, value in self.parameters.items()]
        return f"{self.function.name}({', '.join(arguments)})"

    def identity(self) -> list[object]:
        """Return the condition as a checkpoint stores it, as plain data.

        The version of its function is not here: `code_identity` has the versions of all functions of the query.
        """
        parameters = {name: spell(value) for name, value in sorted(self.parameters.items())}
        return [self.function.name, parameters, *map(list, self.columns)]


def plan_condition(
    function: Function[..., object],
    parameters: Mapping[str, object],
    columns: Sequence[Field],
    place_of: Callable[[int, Field], tuple[int, int]],
    names: Sequence[str],
) -> PairCondition:
    """Bind the function of a join's condition to columns of both streams.

    Args:
        function: The function.
        parameters: Its arguments that are no columns, by name.
        columns: The types of its arguments that are columns, those of the left stream first.
        place_of: Adds a column to those that are read of its stream. It gets the number of the column among `columns`
            and the field that the function reads, and returns the number of the stream and the column's place there.
        names: The names of the columns.

    Raises:
        QueryError: The annotations of the function cannot be read, or it takes an argument by its place alone.
        ParameterError: The function does not take the parameters.
        TypeMismatchError: The number or the types of the columns do not fit the function.
    """
    implementation = function.implementation
    call = _signature_of(function)
    try:
        filled_arguments = call.bind_partial(**parameters).arguments
        check_types(call, parameters)
    except TypeError as error:
        raise ParameterError(function.name, parameters, message_of(error), str(call)) from error

    # Columns fill the arguments that no parameter fills, in order.
    open_arguments = [argument for argument in call.parameters.values() if argument.name not in filled_arguments]
    # An argument with a default may stay without a column. One without a default is read even if there is no column for
    # it, so that `bind_columns` refuses too few columns.
    required_count = sum(argument.default is Parameter.empty for argument in open_arguments)
    reads = []
    for argument in open_arguments[: max(len(columns), required_count)]:
        annotation = object if argument.annotation is Parameter.empty else argument.annotation
        reads.append(describe(annotation, argument.name))
    # The call of the function is bound like the making of a record, whose fields are the arguments.
    record = Field("", Struct(tuple(reads), partial(implementation, **parameters)))
    inputs = bind_columns(function.name, record, columns, bound={})
    places = tuple(place_of(number, read) for number, read in enumerate(inputs.reads))
    # `PairCondition` gathers the columns of both payloads in a row, so in that row they have the places 0, 1 and so on.
    select = inputs.selector(range(len(places)))
    return PairCondition(
        function=function,
        parameters=dict(parameters),
        columns=places,
        select=select,
        names=tuple(names),
    )


def _signature_of(function: Function[..., object]) -> Signature:
    """Return the signature of the function of a condition, which is called with all arguments by name.

    Raises:
        QueryError: The function takes an argument by its place alone, as one without a signature does; or an
            annotation cannot be read.
    """
    call = signature_of(function.implementation)
    for argument in call.parameters.values():
        if argument.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise QueryError(
                f"{function.name}{call} takes {argument} by place, and a condition gives all arguments by name\n"
                "  expected: a function such as (weight, limit) -> bool, without / and *"
            )
    try:
        return signature(function.implementation, eval_str=True)
    except Exception as error:  # evaluating an annotation may raise any exception
        raise QueryError(
            f"the annotations of {function.name} cannot be read: {error}\n"
            "  expected: names that are defined at the top of its module"
        ) from error


Condition: TypeAlias = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]
"""Returns True if an event of the left and an event of the right stream, given by their payloads, are to be joined."""


class JoinedColumn(NamedTuple):
    """A column of the results, as a column of an input has it.

    Attributes:
        field: The name and the type of the column.
        side: The place of the input among those of the query.
        place: The place of the column in the payload of that input.
    """

    field: Field
    side: int
    place: int


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A join of the two inputs of a query; or, with one input, its events as the results.

    Events without a second input are planned as an anti join. That returns the parts of events that no event of the
    second input covers, so without a second input it returns all events whole.

    Attributes:
        kind: The kind of the join.
        columns: The columns of the results, without keys and lifetime.
        on: The condition that a left and a right event have to meet; None if there is none.
    """

    kind: JoinKind
    columns: tuple[JoinedColumn, ...]
    on: PairCondition | None = None

    def identity(self) -> list[object]:
        """Return the part of the join on which the state in a checkpoint depends, as plain data."""
        identity: list[object] = [str(self.kind)]
        identity += [[column.field.name, column.side, column.place] for column in self.columns]
        if self.on is not None:
            identity.append({"on": self.on.identity()})
        return identity
