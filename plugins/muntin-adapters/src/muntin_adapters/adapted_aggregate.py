"""The incremental aggregates that adapters make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from muntin.modules.incremental import IncrementalAggregate
from muntin_adapters.foreign import Foreign
from muntin_adapters.object_state import is_plain, restored, stored
from muntin_adapters.options import check_options
from muntin_adapters.plain import plain
from muntin_adapters.recipes import PickledAsRecipe, constructor, make_module

In = TypeVar("In")
State = TypeVar("State")
Out = TypeVar("Out")


class Accumulation(Protocol):
    """The accumulators of foreign code, in our verbs. It may define `remove`, `combine` and `deduct` as well.

    Methods may change their first accumulator and return it: no other code holds it. The second accumulator of
    `combine` and `deduct` stays as it is.
    """

    def create(self) -> Any:
        """Return a new accumulator."""
        ...

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Return the accumulator with more payloads."""
        ...

    def result(self, accumulator: Any) -> Any:
        """Return the result of an accumulator; the accumulator is not used after that."""
        ...


class AdaptedAggregate(PickledAsRecipe, IncrementalAggregate[In, State, Out], Generic[In, State, Out]):
    """An aggregate whose methods call foreign code.

    Between calls a state is plain data. Foreign code may change an accumulator that it gets. So a state that must stay
    as it is, such as that of a result, is copied before.
    """

    _make: ClassVar[Callable[..., Accumulation]]
    _options: ClassVar[Mapping[str, Any]]

    def __init__(self, *arguments: object, **parameters: object) -> None:
        self._arguments = arguments
        self._parameters = parameters
        self._accumulation  # noqa: B018  # wrong parameters raise an error where the query is built

    def __getstate__(self) -> dict[str, object]:
        """Leave foreign objects out of the pickle: the worker makes its own."""
        return {name: value for name, value in vars(self).items() if name not in ("_accumulation", "_fresh")}

    def create_state(self) -> State:
        """Return the state of no payloads."""
        return self._dump(self._accumulation.create())

    def add_events(self, state: State, payloads: Sequence[In]) -> State:
        """Return the state with more payloads."""
        return self._dump(self._accumulation.add(self._load(state), payloads))

    def compute_result(self, state: State) -> Out:
        """Return the result of a state."""
        result: Out = plain(self._accumulation.result(self._load(deepcopy(state))))
        return result

    def _remove_events(self, state: State, payloads: Sequence[In]) -> State:
        """Return the state with fewer payloads."""
        return self._dump(self._accumulation.remove(self._load(state), payloads))

    def _combine(self, state: State, other: State) -> State:
        """Return the state of the payloads of both states."""
        return self._dump(self._accumulation.combine(self._load(state), self._load(deepcopy(other))))

    def _deduct(self, state: State, other: State) -> State:
        """Return the state without the payloads of `other`."""
        return self._dump(self._accumulation.deduct(self._load(state), self._load(deepcopy(other))))

    def _upgrade_state(self, state: object, version: str) -> State:
        """Return the present form of a state that an older version wrote."""
        upgraded: State = self._options["upgrade_state"](state, version)
        return upgraded

    @cached_property
    def _accumulation(self) -> Any:
        """The `Accumulation`, made with the module's parameters."""
        return type(self)._make(*self._arguments, **self._parameters)

    @cached_property
    def _fresh(self) -> Any:
        """A new accumulator, which tells the kinds of its parts and never changes."""
        return self._accumulation.create()

    def _dump(self, accumulator: Any) -> State:
        """Return an accumulator as plain data."""
        state: State
        if "serialize" in self._options:
            state = self._options["serialize"](accumulator)
        # Plain data is a state as it is; any other object is taken apart, with a new one to tell its classes.
        elif "state" in self._options or (is_plain(accumulator) and is_plain(self._fresh)):
            state = accumulator
        else:
            state = stored(accumulator, self._fresh, f"the accumulator of {self.name}")
        return state

    def _load(self, state: object) -> Any:
        """Return the accumulator of a state, which foreign code may change."""
        if "serialize" in self._options:
            return self._options["deserialize"](state)
        if "state" in self._options:
            return state
        if is_plain(self._fresh):
            return restored(state, self._fresh)  # reads only the kind of a plain value, so one serves all calls
        return restored(state, self._accumulation.create())  # the state is read into this object


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "remove_events": AdaptedAggregate._remove_events,
    "combine": AdaptedAggregate._combine,
    "deduct": AdaptedAggregate._deduct,
}


def adapt(
    foreign: Foreign,
    make: Callable[..., Accumulation],
    *,
    payload: Any,
    result: Any,
    capabilities: Mapping[str, bool],
    options: Mapping[str, Any],
) -> type[Any]:
    """Return the module class of foreign code.

    Args:
        foreign: Foreign code.
        make: Function from the module's parameters to the `Accumulation` that calls the foreign code.
        payload: Type of a payload.
        result: Type of a result.
        capabilities: Optional methods, each True if the code has it.
        options: Options of the writer of the module.

    Raises:
        ModuleDefinitionError: The class cannot be used in a query.
    """
    check_options(options)
    methods: dict[str, Callable[..., Any]] = {}
    # Having a method is a declaration: only those that the foreign code has, and that the writer does not leave out.
    for name, is_available in capabilities.items():
        if is_available and name not in options.get("without", ()):
            methods[name] = _METHODS[name]
    if "upgrade_state" in options:
        methods["upgrade_state"] = AdaptedAggregate._upgrade_state
    base: Any = AdaptedAggregate
    return make_module(
        (base[payload, options.get("state", Any), result],),
        {
            "name": options["name"],
            "version": options["version"],
            "continues_since": options.get("continues_since"),
            "reads_order": options.get("reads_order", False),
            "__doc__": foreign.cls.__doc__,
            "__init__": constructor(AdaptedAggregate.__init__, foreign.signature),
            "_make": staticmethod(make),
            "_options": dict(options),
            **methods,
        },
    )
