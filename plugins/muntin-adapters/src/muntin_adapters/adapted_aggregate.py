"""The incremental aggregates that adapters make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from muntin.modules.incremental import IncrementalAggregate
from muntin_adapters.foreign import Foreign
from muntin_adapters.made import Made, constructor, make_module
from muntin_adapters.object_state import is_plain, restored, stored
from muntin_adapters.options import check_options
from muntin_adapters.plain import plain

In = TypeVar("In")
State = TypeVar("State")
Out = TypeVar("Out")


class Accumulation(Protocol):
    """The accumulator of foreign code, in our verbs. May define `remove`, `combine` and `deduct` as well.

    An accumulator that is passed first is the callee's to change and return; it is nobody else's.
    """

    def create(self) -> Any:
        """Return a new accumulator."""
        ...

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Return the accumulator with more payloads."""
        ...

    def result(self, accumulator: Any) -> Any:
        """Return the result of an accumulator, which is not used again."""
        ...


class AdaptedAggregate(Made, IncrementalAggregate[In, State, Out], Generic[In, State, Out]):
    """An aggregate whose methods are those of foreign code.

    Between calls a state is plain data. Foreign code gets accumulators of its own: what it may change by its own
    contract, such as the accumulator of a result, is copied before.
    """

    _make: ClassVar[Callable[..., Accumulation]]
    _options: ClassVar[Mapping[str, Any]]

    def __init__(self, *arguments: object, **parameters: object) -> None:
        self._given = arguments, parameters
        self._accumulation  # noqa: B018  # refuses wrong parameters now

    def __getstate__(self) -> dict[str, object]:
        """Leave foreign objects out of the pickle: they are made anew where they are used."""
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
        """Return the state of the payloads of both."""
        return self._dump(self._accumulation.combine(self._load(state), self._load(deepcopy(other))))

    def _deduct(self, state: State, other: State) -> State:
        """Return the state without the payloads of `other`."""
        return self._dump(self._accumulation.deduct(self._load(state), self._load(deepcopy(other))))

    def _upgrade_state(self, state: object, version: str) -> State:
        """Return today's state of one that an older version wrote."""
        upgraded: State = self._options["upgrade_state"](state, version)
        return upgraded

    @cached_property
    def _accumulation(self) -> Any:
        """An `Accumulation`, of the module's parameters."""
        arguments, parameters = self._given
        return type(self)._make(*arguments, **parameters)

    @cached_property
    def _fresh(self) -> Any:
        """A new accumulator, which stays as it is."""
        return self._accumulation.create()

    def _dump(self, accumulator: Any) -> State:
        state: State
        if "serialize" in self._options:
            state = self._options["serialize"](accumulator)
        elif "state" in self._options or (is_plain(accumulator) and is_plain(self._fresh)):
            state = accumulator
        else:
            state = stored(accumulator, self._fresh, f"the accumulator of {self.name}")
        return state

    def _load(self, state: object) -> Any:
        if "serialize" in self._options:
            return self._options["deserialize"](state)
        if "state" in self._options:
            return state
        return restored(state, self._fresh if is_plain(self._fresh) else self._accumulation.create())


_METHODS: Final = {
    "remove_events": AdaptedAggregate._remove_events,
    "combine": AdaptedAggregate._combine,
    "deduct": AdaptedAggregate._deduct,
}


def adapt(
    foreign: Foreign,
    make: Callable[..., Accumulation],
    payload: Any,
    result: Any,
    capabilities: Mapping[str, bool],
    options: Mapping[str, Any],
) -> type[Any]:
    """Return the module class of foreign code.

    Args:
        foreign: The code.
        make: Returns its accumulation, from the module's parameters.
        payload: The type of a payload.
        result: The type of a result.
        capabilities: Which optional methods the code can do.
        options: The writer's options.

    Raises:
        ModuleDefinitionError: The class cannot be used in a query.
    """
    check_options(options)
    without = options.get("without", ())
    methods = {name: _METHODS[name] for name, can in capabilities.items() if can and name not in without}
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
