"""A module of a query: made with the query's parameters, and bound to its columns, or to streams of a union."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from muntin import Merge, Module
from muntin.axis import lengths_read_by
from muntin.errors import ParameterError, QueryError, message_of
from muntin.modules.columnar_aggregate import Form
from muntin.modules.parameters import check_parameters, spell, spell_signature
from muntin.schemas import Field, Scalar, ScalarKind, Struct, Variable
from muntin_engine.modules.abilities import may_slide
from muntin_engine.modules.skipping import BySource, forbids_null
from muntin_engine.plan.input_binding import bind_each, bind_inputs
from muntin_engine.state.codec import holds_many


@dataclass(frozen=True, slots=True)
class StreamInput:
    """An input of a module that reads several, bound to a stream of the query.

    Attributes:
        name: The name of the input, as the module gives it.
        sources: The sources of the stream.
        columns: The places of its columns in the payload.
        reads: The field that the module reads, for each column.
    """

    name: str
    sources: tuple[str, ...]
    columns: tuple[int, ...]
    reads: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """One module of a query, bound to columns.

    Attributes:
        output: The name of its result column; empty for an operator, whose row gives the names.
        module: The module, made with the query's parameters.
        parameters: The parameters with which it was made.
        columns: The places of its columns in the payload of its input.
        reads: The field that the module reads, for each column.
        select: Returns the module's payload, given the tuple of all columns that the query's modules read of an event;
            `SKIPPED` if the module does not accept the event.
        result: The type of its result, with type variables bound.
        form: The module's columnar form, which computes on arrays of columns of these types; None if it has none.
        bound_reads: The fields of `reads`, with type variables bound.
        side: The place of its input among those of the query.
        evicted: The type of a row of its second output; None if it has none.
        inputs: Its inputs, if it reads several; else none. `columns` and `reads` then begin with the source of a row,
            and the columns of all inputs follow.
    """

    output: str
    module: Module
    parameters: Mapping[str, Any]
    columns: tuple[int, ...]
    reads: tuple[Field, ...]
    select: Callable[[tuple[Any, ...]], Any]
    result: Field
    form: Form | None = None
    bound_reads: tuple[Field, ...] = ()
    side: int = 0
    evicted: Field | None = None
    inputs: tuple[StreamInput, ...] = ()

    @property
    def skips_rows(self) -> bool:
        """True if the module does not accept every row: it skips rows with certain nulls, or of no input of its own."""
        return bool(self.inputs) or any(map(forbids_null, self.reads))

    @property
    def streams(self) -> tuple[StreamInput, ...]:
        """The streams that it reads: its inputs, or one without a name that has all sources."""
        return self.inputs or (StreamInput(name="", sources=(), columns=self.columns, reads=self.reads),)

    @property
    def slides(self) -> bool:
        """True if the state of a window can be made from that of the window before, by adding and removing events."""
        return may_slide(self.module)

    @property
    def empty_result(self) -> object:
        """The module's result for a window none of whose rows it accepts: null, unless the module names another one."""
        # Either the module or its form may say by an attribute `empty_result` what it returns without rows. The form
        # says it for a module that accepts every row: only the form may then leave out values, such as nulls.
        definition = self.module if self.skips_rows else self.form
        return getattr(definition, "empty_result", None)

    @property
    def is_holistic(self) -> bool:
        """True if no constant bounds the size of a state: it may grow with the number of values added to it."""
        if self.form is not None:  # a component that collects keeps every value
            return any(part.merge is Merge.COLLECT for part in self.form.components().values())
        return getattr(self.module, "state_bytes", None) is None and holds_many(self.module.state_type())

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.module.name} {self.module.version}"

    @property
    def metric_label(self) -> str:
        """The label in the query's metrics: the result column, or the operator's name."""
        return self.output or self.module.name

    def identity(self) -> list[object]:
        """Return the properties of the module that the state in a checkpoint depends on, as plain data.

        An incremental module that does not accept every row is marked as `"counted"`: with its state the number of
        accepted rows is stored, as a window without such rows has another result, `empty_result`.
        """
        parameters = {name: spell(value) for name, value in sorted(self.parameters.items())}
        columns: list[Any] = list(self.columns)
        if self.side:
            # A column of a further input is written with the number of the input, a column of the first input without.
            columns = [[self.side, place] for place in self.columns]
        identity: list[object] = [self.module.name, self.module.version, parameters, columns]
        if self.skips_rows and self.module.is_incremental:
            identity.append("counted")
        if self.inputs:
            streams: dict[str, Any] = {}
            for stream in self.inputs:
                streams[stream.name] = [list(stream.sources), list(stream.columns)]
            identity.append(streams)
        return identity


def make_module(
    cls: type[Module], parameters: Mapping[str, object], read_length: Callable[[int], int] | None = None
) -> Module:
    """Make a module with the parameters that a query gives it.

    Args:
        cls: The class of the module.
        parameters: The parameters of its constructor, by name.
        read_length: Converts a length that the constructor reads to ticks of the query's axis; None where there is no
            query.

    Raises:
        ParameterError: The constructor has no such parameters, annotates them with other types, or raises `ValueError`
            or `TypeError` on them; or one of them is a duration and the query's axis does not measure time.
    """
    check_parameters(cls, parameters)
    # The constructor reads lengths such as "10 minutes" by `muntin.ticks`, which asks this context for their ticks.
    reads_lengths = nullcontext() if read_length is None else lengths_read_by(read_length)
    try:
        with reads_lengths:
            module: Module = cls(**parameters)
    except (TypeError, ValueError, QueryError) as error:
        raise ParameterError(cls.name, parameters, message_of(error), spell_signature(cls)) from error
    return module


def plan_module(
    output: str,
    cls: type[Module],
    parameters: Mapping[str, object],
    columns: Sequence[Field],
    place_of: Callable[[int, Field], int],
    read_length: Callable[[int], int] | None = None,
    module: Module | None = None,
) -> ModulePlan:
    """Bind a module to the columns that a query gives it.

    Args:
        output: The name of its result column; empty for an operator.
        cls: The module's class.
        parameters: The parameters of its constructor, by name.
        columns: The types of the columns that the query gives it.
        place_of: Adds a column to those that are read of each event, and returns its place among them. It gets the
            number of the column among the module's columns, and the field that the module reads.
        read_length: Converts lengths to ticks, as for `make_module`.
        module: The module, if it is made already; None to make it.

    Raises:
        ParameterError: The module cannot be made with these parameters.
        TypeMismatchError: The number or the types of the columns do not fit the module.
    """
    bound = bind_inputs(cls, columns)
    if module is None:
        module = make_module(cls, parameters, read_length)
    places = tuple(place_of(number, field) for number, field in enumerate(bound.reads))
    bound_reads = tuple(map(_bound_field, bound.reads, columns))
    return ModulePlan(
        output=output,
        module=module,
        parameters=dict(parameters),
        columns=places,
        reads=bound.reads,
        select=bound.selector(places),
        result=bound.result,
        form=_columnar_form(module, bound_reads),
        bound_reads=bound_reads,
        evicted=bound.evicted,
    )


def _bound_field(read: Field, column: Field) -> Field:
    """Return the field that a module reads; with the type of the column, if the field is a type variable."""
    return Field(read.name, column.type, read.is_nullable) if isinstance(read.type, Variable) else read


def _columnar_form(module: Module, bound_reads: Sequence[Field]) -> Form | None:
    """Return a module's columnar form for columns of these types; None if the module has none for them."""
    if not hasattr(module, "columnar_form"):
        return None

    # `columnar_form` takes one field: that of a column, that of a record of several columns, or one that may be null
    # where the module reads no column.
    input_field = module.input_field()
    if len(bound_reads) == 1:
        read = bound_reads[0]
    elif bound_reads:
        # The record is described like a struct column, whose values are dicts.
        read = Field(input_field.name, Struct(tuple(bound_reads), dict), is_nullable=False)
    else:
        read = Field(input_field.name, input_field.type, is_nullable=True)
    form: Form | None = module.columnar_form(read)
    return form


SOURCE: Final = Field("source", Scalar(ScalarKind.STRING), is_nullable=True)
"""The source of a row, by which a module that reads several inputs knows the input of the row."""


def sources_of_inputs(
    cls: type[Module], streams: Mapping[str, str], sources: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the sources that each input of a module reads, by the name of the input.

    A stream of a union is a source of the union. If the stream has sources itself, each of them is a source of the
    union instead, as `stream.source`.

    Args:
        cls: The module's class.
        streams: The name of the stream that each input reads, by the name of the input.
        sources: The sources of the events; none if the events are of one stream.

    Raises:
        QueryError: The events are of one stream, there is no stream of a name, or two inputs read one stream.
    """
    arguments = ", ".join(f"{stream}=..." for stream in dict.fromkeys(streams.values()))
    union = f"union({arguments})"  # the call that errors advise
    if not sources:
        raise QueryError(
            f"{cls.name} reads {len(streams)} inputs, {', '.join(streams)}, and the events are of one stream\n"
            f"  make one stream of all: {union}.window(...)"
        )
    sources_by_input: dict[str, tuple[str, ...]] = {}
    for name, stream in streams.items():
        sources_by_input[name] = tuple([source for source in sources if _is_of(source, stream)])

    for name, stream in streams.items():
        if not sources_by_input[name]:
            names = ", ".join(dict.fromkeys(source.partition(".")[0] for source in sources))
            raise QueryError(
                f"the input {name} of {cls.name} is the stream {stream}, and there is none of this name: {names}\n"
                f"  name it so, {union}, or say which it is: {name}=from_stream('<stream>', '<column>')"
            )
        for other in streams:
            if other != name and set(sources_by_input[other]) & set(sources_by_input[name]):
                raise QueryError(
                    f"the inputs {name} and {other} of {cls.name} read one stream, {stream}, and an event is of one\n"
                    "  give the union a stream for each of them, of the same DataFrame if need be"
                )
    return sources_by_input


def _is_of(source: str, stream: str) -> bool:
    """Return True if a source is a stream of a union, or one of the sources of that stream."""
    return source == stream or source.startswith(f"{stream}.")


def plan_several(  # noqa: PLR0913, PLR0917  # what is bound, and to what
    output: str,
    cls: type[Module],
    parameters: Mapping[str, object],
    sources: Mapping[str, tuple[str, ...]],
    columns: Mapping[str, Sequence[Field]],
    source_place: int,
    place_of: Callable[[str, int, Field], int],
    read_length: Callable[[int], int] | None = None,
    module: Module | None = None,
) -> ModulePlan:
    """Bind a module that reads several inputs to the columns of the streams of a union.

    Args:
        output: The name of its result column; empty for an operator.
        cls: The module's class.
        parameters: The parameters of its constructor, by name.
        sources: The sources that each input reads, by the name of the input.
        columns: The types of the columns that the query gives each input, by the name of the input.
        source_place: The place of the column `SOURCE` among those that are read of each event.
        place_of: Adds a column to those that are read of each event, and returns its place among them. It gets the name
            of the input, the number of the column among those of the input, and the field that the module reads.
        read_length: Converts lengths to ticks, as for `make_module`.
        module: The module, if it is made already; None to make it.

    Raises:
        ParameterError: The module cannot be made with these parameters.
        TypeMismatchError: The number or the types of the columns do not fit an input.
    """
    bound = bind_each(cls, columns)
    if module is None:
        module = make_module(cls, parameters, read_length)

    # A row is read by the input that its source belongs to: `selectors` has the function for each source.
    inputs = []
    places = [source_place]  # first the column with the source of a row, which `BySource` reads; then those of inputs
    reads = [SOURCE]
    selectors: dict[str, Callable[[tuple[Any, ...]], Any]] = {}
    for name, input in bound.items():
        input_places = tuple(place_of(name, number, field) for number, field in enumerate(input.reads))
        inputs.append(StreamInput(name, sources[name], input_places, input.reads))
        places += input_places
        reads += input.reads
        selectors |= dict.fromkeys(sources[name], input.selector(input_places))

    any_input = next(iter(bound.values()))  # the types of results are the same for all inputs
    return ModulePlan(
        output=output,
        module=module,
        parameters=dict(parameters),
        columns=tuple(places),
        reads=tuple(reads),
        select=BySource(source_place, selectors),
        result=any_input.result,
        evicted=any_input.evicted,
        inputs=tuple(inputs),
    )
