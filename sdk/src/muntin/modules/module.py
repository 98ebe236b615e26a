"""The root of all window modules: a name, a version, and the types a class declares."""

from __future__ import annotations

from typing import Any, ClassVar

from muntin.definitions.attributes import check_attributes
from muntin.definitions.methods import check_aliases, check_methods, check_name, signature_of, undefined_methods
from muntin.definitions.versions import continues
from muntin.errors import ModuleDefinitionError
from muntin.modules.declared_types import describe_input, type_arguments
from muntin.modules.needs import Needs
from muntin.policies import ClipPolicy, OutputContract
from muntin.schemas import Field, Growth, OneOf, describe, growing


class Module:
    """The common part of all base classes. Subclass one of them, never this.

    A concrete module sets two class attributes, `name` and `version`. A class that no plugin offers, and that a query
    gets itself, may leave the version out. The parameters of the constructor are the parameters that a query writer may
    give. The constructor reads a duration with `ticks`, which knows the query's axis there and nowhere else, and should
    raise `ValueError` for a value that it cannot work with: building the query then raises a `ParameterError`.

    Only the engine and tests call the methods, and none is called for a window without members. Payloads and events are
    read-only, and come in any order unless the module `reads_order`. A type checker compares the methods, also the
    optional ones, with the types in brackets.

    If the input type in the brackets is a union of records, dataclasses or named tuples such as `Order | Payment`, the
    module has an input for each of them, under the name of its class in lower case: `order`, `payment`. It gets the
    events of several streams in one window, and tells them apart by the class of the payload. All base classes but
    `ColumnarAggregate` take such a type. A window has a result if it has events of any stream of the query, so any
    input may be silent; if all inputs of a module are, its result is null and the module is not called. An input whose
    record has no fields takes no columns, only events. A type variable stands for the same type in all inputs, as in
    `Left[T] | Right[T]`. No input may have the name of a parameter.

    Attributes:
        name: `"<plugin>.<module>"`, the name a query uses.
        version: The module's own version; it is stored with a query's state.
        aliases: Other names of the module within its plugin, such as `("mean", "avg")`, for those who know it under
            these names. A query may use them, and a checkpoint says `name` all the same. A subclass does not inherit
            them.
        continues_since: The oldest version whose checkpoints this version can continue, because results have meant the
            same since then. States are then read as they are, or given to `upgrade_state` if the module has that
            method. With None, the default, the module continues the versions that `upgrade_state` takes; without that
            method, only its own version.
        requires_same_code: True if a query may not continue from a checkpoint that other code of the same version
            wrote. With False, the default, it continues, and says so in the log and in `explain(checkpoint=...)`.
        decimal_digits: The number of digits that a result may have beyond those of the column, where the type of both
            is a decimal: such as 10 for a sum of up to ten billion values, as in Spark, or 0 for a value that is chosen
            among those of the column. None, the default, if it is not known: the result then has the most digits that
            there are, 38.
        decimal_places: The number of these digits after the decimal point, such as the 4 of an average, as in Spark. If
            it is not zero and the column is of whole numbers, the result is a float.
        accepted_clips: The clipping policies under which the module is correct; by default all.
        is_time_sensitive: True if the module gets events and the window, instead of payloads. A class sets it, and its
            methods take `events` for `payloads` and the window as their last argument.
        is_operator: True for modules that return rows, false for those that return one value.
        is_incremental: True for modules that keep a state of a window.
        reads_times: True if the result depends on the lifetimes of the events; by default it is the same as
            `is_time_sensitive`. A module that only *writes* times may set it to False: its windows then close as early
            as those of any other module.
        reads_order: True if the result depends on the order of the events. They then come by time; events of one time
            by the query's `events(order=...)`; and in windows over time, events that are alike in both by the values
            that the module reads. Such windows are computed from all their events each time, because states of partial
            windows have no order.
        contract: The guarantee of the module about the lifetimes that it returns.
        exact_up_to: The number of members up to which the module's laws hold, and are tried, if its results are
            approximations beyond that number. None, the default, if they hold for any number.
        needs: The needs that the module has of a query's windows, and the policies that it is made for; by default
            there are none. If they depend on a parameter, `needs` is a property.

    Example:
        A module of two inputs:

        >>> from dataclasses import dataclass
        >>> from muntin import Aggregate
        >>> @dataclass(frozen=True)
        ... class Order:
        ...     amount: float
        >>> @dataclass(frozen=True)
        ... class CardPayment:
        ...     amount: float
        >>> class Unpaid(Aggregate[Order | CardPayment, float]):
        ...     name, version = "demo.unpaid", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return sum(one.amount if isinstance(one, Order) else -one.amount for one in payloads)
        >>> [part.name for part in Unpaid.input_fields()]
        ['order', 'card_payment']
        >>> Unpaid().compute_result([Order(5.0), CardPayment(2.0), Order(1.5)])
        4.5
    """

    name: ClassVar[str]
    version: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    continues_since: ClassVar[str | None] = None
    requires_same_code: ClassVar[bool] = False
    decimal_digits: ClassVar[int | None] = None
    decimal_places: ClassVar[int] = 0
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset(ClipPolicy)
    is_time_sensitive: ClassVar[bool] = False
    is_operator: ClassVar[bool] = False
    is_incremental: ClassVar[bool] = False
    reads_times: ClassVar[bool] = False
    reads_order: bool = False
    contract: ClassVar[OutputContract] = OutputContract.WINDOW_BASED
    exact_up_to: ClassVar[int | None] = None
    needs: ClassVar[Needs] = Needs()
    _preset: ClassVar[str] = ""

    def __class_getitem__(cls, types: Any) -> Any:
        """Take the types in brackets, as `Generic` does, with an error that says which types go there."""
        try:
            return super().__class_getitem__(types)  # type: ignore[misc]  # each base class is a Generic, which has it
        except TypeError as error:
            roles = ", ".join(parameter.__name__ for parameter in getattr(cls, "__parameters__", ()))
            count = len(types) if isinstance(types, tuple) else 1
            counted_types = "1 type" if count == 1 else f"{count} types"
            raise ModuleDefinitionError(
                f"{cls.__name__} with {counted_types} in brackets\n"
                f"  expected: {cls.__name__}[{roles}]; In is the type of one payload, such as float"
            ) from error

    def __init_subclass__(cls, **options: object) -> None:
        """Set `reads_times` in a subclass that sets `is_time_sensitive`, to the same value, unless it sets both."""
        super().__init_subclass__(**options)
        attributes = vars(cls)
        if "is_time_sensitive" in attributes and "reads_times" not in attributes:
            cls.reads_times = cls.is_time_sensitive

    def _repr_html_(self) -> str:
        """Return the module with its types, its parameters and its docstring, for notebooks."""
        from muntin.modules.module_html import html_of  # only notebooks need it

        return html_of(type(self))

    @classmethod
    def input_field(cls) -> Field:
        """Return the type of one payload, from the class's generics."""
        return describe_input(cls._types()["input"], "input")

    @classmethod
    def input_fields(cls) -> tuple[Field, ...]:
        """Return the inputs, with their names, of a module that reads several; empty if it reads a single stream."""
        data_type = cls.input_field().type
        return data_type.inputs if isinstance(data_type, OneOf) else ()

    @classmethod
    def result_field(cls) -> Field:
        """Return the type of a result, or of a row for an operator, from the class's generics."""
        result = describe(cls._types()["result"], "result")
        if cls.decimal_digits is None:
            return result
        return growing(result, Growth(cls.decimal_digits, cls.decimal_places))

    @classmethod
    def state_type(cls) -> object:
        """Return the annotation of the state, or None for a module that keeps none."""
        return cls._types().get("state")

    def continues_from(self, version: str) -> bool:
        """Return True if a query can continue from a checkpoint that another version of the module wrote.

        A query can continue from an older version that is at least `continues_since`. It never can from a newer one. A
        version that is not a number, such as a hash of the code, is neither older nor newer: a query can continue from
        such a version only if `continues_since` names it. Where `continues_since` is None, a module with
        `upgrade_state` continues from all older versions, and from all that are not numbers.

        Called on the driver before a query starts, and on the workers where they find a state of the other version.

        Args:
            version: The version that the checkpoint names.
        """
        # `preset` of `muntin_adapters` fixes parameters of a module, and appends them to the version.
        if not version.endswith(self._preset):
            return False  # the module had other preset parameters
        present_version = self.version.removesuffix(self._preset)
        stored_version = version.removesuffix(self._preset)
        return continues(present_version, stored_version, self.continues_since, upgrades=hasattr(self, "upgrade_state"))

    def with_order(self) -> Module:
        """Return the module for a query that names an order of events; by default, the module itself.

        Override it in a module that can do without an order, but breaks ties by the order if there is one: return a
        module that `reads_order`. Called once, when the query is planned.
        """
        return self

    @classmethod
    def own_aliases(cls) -> tuple[str, ...]:
        """Return the aliases that this class itself sets, without those of its parents."""
        aliases: tuple[str, ...] = vars(cls).get("aliases", ())
        return aliases

    @classmethod
    def check_definition(cls) -> None:
        """Refuse a class that cannot be used in a query.

        Raises:
            ModuleDefinitionError: The name or version is missing or malformed, a type cannot be derived, a method
                does not take its arguments, or an attribute that nothing reads nearly has the name of one that is read.
        """
        name = check_name(getattr(cls, "name", None), cls.__qualname__)
        version = getattr(cls, "version", None)
        if not isinstance(version, str) or not version:
            fault = "has no version" if version in (None, "") else f"has the version {version!r}, which is not text"
            raise ModuleDefinitionError(f"{name} {fault}\n  set the class attribute: version = '1.0.0'")
        since = cls.continues_since
        if not isinstance(since, str | None):
            raise ModuleDefinitionError(
                f"{name} has continues_since = {since!r}, which is not text\n  write it as a version: '{since}'"
            )
        check_aliases(name, cls.own_aliases())
        if cls.__abstractmethods__:  # type: ignore[attr-defined]  # set by ABCMeta on every base class below
            raise undefined_methods(cls, name, cls.__abstractmethods__)  # type: ignore[attr-defined]
        check_methods(cls)
        check_attributes(cls, name)
        _check_inputs(cls)
        # Called for its error: a result type that cannot become a column is refused here, not when the query starts.
        cls.result_field()

    @classmethod
    def _types(cls) -> dict[str, Any]:
        """Return the types in the brackets by their roles: `input`, `result`, and `state` if there is one."""
        return type_arguments(cls, Module)


def _check_inputs(cls: type[Module]) -> None:
    """Refuse a module with an input and a parameter of the same name."""
    parameters = signature_of(cls).parameters
    for module_input in cls.input_fields():
        if module_input.name in parameters:
            raise ModuleDefinitionError(
                f"{cls.name} has an input and a parameter named {module_input.name}, and a query gives both by name\n"
                "  rename the parameter, or the class of the input's record"
            )
