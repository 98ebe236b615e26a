"""Sketches in the shape of `datasketches` as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from typing_extensions import Unpack

from muntin.definitions.methods import hints_of
from muntin.errors import ModuleDefinitionError
from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign, unknown_type
from muntin_adapters.made import maker
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.spreading import Spread

_WRITERS: Final = ("serialize", "serialize_compact")


@maker
def from_sketch(
    sketch: object,
    *,
    get: str | Callable[[object], object],
    union: Callable[[], object] | None = None,
    **options: Unpack[AdapterOptions],
) -> type[Any]:
    r"""Return the module class of a sketch, as Apache DataSketches has them.

    It is a class with `update(value)`. `merge(other)` becomes `combine`; so does a `union`. A state is what
    `serialize()`, `serialize_compact()` or `compact().serialize()` gives, and the same class's `deserialize(data)`
    reads it; where there are none, or they need arguments, give `serialize` and `deserialize`.

    Say in a subclass how many bytes a sketch takes at most, as `state_bytes`. A sketch that is exact up to some members
    and random beyond says how many, as `exact_up_to`, up to which its laws are tried. The estimate of an HLL sketch
    that was never merged depends on the order of its values; `stats.approximate_distinct_count` avoids that.

    Args:
        sketch: The class, whose constructor's parameters a query may give.
        get: The result: the name of a method of the sketch, or a function of it.
        union: Returns a new union, for a sketch that is merged by one: it has `update(sketch)` and `get_result()`.
        options: See `AdapterOptions`.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class Seen:
        ...     def __init__(self, values=()):
        ...         self.values = set(values)
        ...     def update(self, value):
        ...         self.values.add(value)
        ...     def merge(self, other):
        ...         self.values |= other.values
        ...     def serialize(self):
        ...         return bytes(sorted(self.values))
        ...     @classmethod
        ...     def deserialize(cls, data):
        ...         return cls(data)
        ...     def get_estimate(self) -> int:
        ...         return len(self.values)
        >>> seen = from_sketch(Seen, name="demo.seen", version="1.0.0", input=int, get="get_estimate")()
        >>> seen.create_state(), seen.add_events(b"", [7, 9, 7])
        (b'', b'\x07\t')
    """
    check_options(options)
    foreign = Foreign(sketch, options["name"], "a sketch, as datasketches has them")
    foreign.require_class()
    foreign.require("update", *([get] if isinstance(get, str) else []))
    _check_storage(foreign, "serialize" in options, union is not None)
    payload = foreign.payload_type(options.get("input"), "update")
    spread = foreign.spread(payload, "update")
    getter = (lambda sketch: getattr(sketch, get)()) if isinstance(get, str) else get
    result = options.get("result", hints_of(getattr(sketch, get) if isinstance(get, str) else get).get("return"))
    if result is None:
        raise unknown_type(options["name"], "its result", "an annotation of what get returns", "result")

    def make(*arguments: object, **parameters: object) -> _Sketch:
        foreign.make(*arguments, **parameters)  # refuses wrong parameters now
        return _Sketch(lambda: foreign.make(*arguments, **parameters), spread, getter, union, options)

    kept = {name: option for name, option in options.items() if name not in ("serialize", "deserialize")}
    return adapt(foreign, make, payload, result, {"combine": union is not None or foreign.has("merge")}, kept)


def _check_storage(foreign: Foreign, is_given: bool, is_united: bool) -> None:
    if is_given or any(map(foreign.has, _WRITERS)) or (foreign.has("compact") and is_united):
        return
    sketch = f"{foreign.module}: {foreign.cls.__qualname__}"
    if foreign.has("compact"):
        raise ModuleDefinitionError(
            f"{sketch} is stored in a compact form, which cannot be updated\n"
            "  to do: give union=, which takes new values in, for example union=theta_union"
        )
    raise ModuleDefinitionError(f"{sketch} has no serialize\n  to do: give serialize= and deserialize=")


@dataclass
class _Sketch:
    """Keeps a sketch as what it is stored as."""

    new: Callable[[], Any]
    spread: Spread
    get: Callable[[Any], Any]
    union: Callable[[], Any] | None
    options: AdapterOptions

    def create(self) -> Any:
        return self._write(self.new())

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        sketch = self.new() if self.union else self._read(accumulator)
        for payload in payloads:
            sketch.update(*self.spread(payload))
        return self._united(self._read(accumulator), sketch) if self.union else self._write(sketch)

    def combine(self, accumulator: Any, other: Any) -> Any:
        sketch, more = self._read(accumulator), self._read(other)
        if self.union:
            return self._united(sketch, more)
        sketch.merge(more)
        return self._write(sketch)

    def result(self, accumulator: Any) -> Any:
        return self.get(self._read(accumulator))

    def _united(self, first: object, second: object) -> Any:
        united = self.union()  # type: ignore[misc]  # those who have none do not unite
        united.update(first)
        united.update(second)
        return self._write(united.get_result())

    def _write(self, sketch: object) -> Any:
        if "serialize" in self.options:
            return self.options["serialize"](sketch)
        source = _writable(sketch)
        return getattr(source, next(name for name in _WRITERS if hasattr(source, name)))()

    def _read(self, state: object) -> Any:
        return self._deserialize(state)

    @cached_property
    def _deserialize(self) -> Callable[[object], object]:
        if "deserialize" in self.options:
            return self.options["deserialize"]
        reader: Callable[[Any], Any] = type(_writable(self.new())).deserialize
        return reader


def _writable(sketch: Any) -> Any:
    """Return a sketch, or the compact form of one that is written in that alone."""
    return sketch if any(hasattr(sketch, name) for name in _WRITERS) else sketch.compact()
