"""Sketches in the shape of `datasketches` as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, Final

from typing_extensions import Unpack

from muntin.definitions.methods import hints_of
from muntin.errors import ModuleDefinitionError
from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign, unknown_type
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import Spread

_WRITERS: Final = ("serialize", "serialize_compact")


@records_recipe
def from_sketch(
    sketch: object,
    *,
    get: str | Callable[[object], object],
    union: Callable[[], object] | None = None,
    **options: Unpack[AdapterOptions],
) -> type[Any]:
    r"""Return the module class of a sketch, as Apache DataSketches has them.

    A sketch is a class with `update(value)`. `merge(other)` becomes `combine`; so does a `union`. A state is the result
    of `serialize()`, `serialize_compact()` or `compact().serialize()`, and the same class's `deserialize(data)` reads
    it; where these methods are missing, or need arguments, give `serialize` and `deserialize`.

    A subclass can declare the greatest size of a sketch, as `state_bytes`. For a sketch that is exact up to some number
    of members and random beyond, it can declare that number, as `exact_up_to`: laws are tried up to it. The estimate of
    an HLL sketch that was never merged depends on the order of its values; `stats.approximate_distinct_count` avoids
    that.

    Args:
        sketch: Class, whose constructor's parameters a query may give.
        get: Result: the name of a method of the sketch, or a function of it.
        union: Function that returns a new union, for a sketch that is merged by a union with `update(sketch)` and
            `get_result()`.
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
    # The estimate comes from a method by its name, or from a function of the sketch.
    getter: Callable[[Any], Any]
    annotated: Callable[..., Any]
    if isinstance(get, str):
        foreign.require("update", get)
        getter = methodcaller(get)
        annotated = getattr(sketch, get)
    else:
        foreign.require("update")
        getter = get
        annotated = get
    _check_storage(foreign, has_serialize="serialize" in options, has_union=union is not None)
    payload = foreign.payload_type(options.get("input"), "update")
    spread = foreign.spread(payload, "update")
    result = options.get("result")
    if result is None:
        result = hints_of(annotated).get("return")
    if result is None:
        raise unknown_type(options["name"], "its result", "an annotation of what get returns", "result")

    def make(*arguments: object, **parameters: object) -> _Sketch:
        """Return the accumulation of a sketch with these parameters."""
        foreign.make(*arguments, **parameters)  # wrong parameters raise an error where the query is built
        return _Sketch(partial(foreign.make, *arguments, **parameters), spread, getter, union, options)

    # The accumulation itself keeps sketches in their stored form, so the aggregate must not store them again.
    other_options = {name: option for name, option in options.items() if name not in ("serialize", "deserialize")}
    can_combine = union is not None or foreign.has("merge")
    return adapt(
        foreign,
        make,
        payload=payload,
        result=result,
        capabilities={"combine": can_combine},
        options=other_options,
    )


def _check_storage(foreign: Foreign, *, has_serialize: bool, has_union: bool) -> None:
    """Check that a sketch can be stored.

    Raises:
        ModuleDefinitionError: The sketch has no method for that, and no option names one.
    """
    if has_serialize or any(map(foreign.has, _WRITERS)) or (foreign.has("compact") and has_union):
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
    """An `Accumulation` whose accumulators are sketches in their stored form.

    Attributes:
        new: Function that returns an empty sketch.
        spread: Function from a payload to the arguments of `update`.
        get: Function from a sketch to the result.
        union: Function that returns an empty union; None for sketches that merge without one.
        options: Options of the writer of the module.
    """

    new: Callable[[], Any]
    spread: Spread
    get: Callable[[Any], Any]
    union: Callable[[], Any] | None
    options: AdapterOptions

    def create(self) -> Any:
        return self._write(self.new())

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Return a stored sketch with more payloads."""
        # A stored sketch may be compact, and then it cannot be updated. With a union, the new values get a sketch of
        # their own, which is united with the stored one.
        sketch = self._read(accumulator) if self.union is None else self.new()
        for payload in payloads:
            sketch.update(*self.spread(payload))
        if self.union is None:
            return self._write(sketch)
        return self._united(self.union(), self._read(accumulator), sketch)

    def combine(self, accumulator: Any, other: Any) -> Any:
        """Return the union of two stored sketches, or else the first one with the second merged into it."""
        sketch = self._read(accumulator)
        other_sketch = self._read(other)
        if self.union is not None:
            return self._united(self.union(), sketch, other_sketch)
        sketch.merge(other_sketch)
        return self._write(sketch)

    def result(self, accumulator: Any) -> Any:
        return self.get(self._read(accumulator))

    def _united(self, union: Any, first: object, second: object) -> Any:
        """Return the union of two sketches in its stored form."""
        union.update(first)
        union.update(second)
        return self._write(union.get_result())

    def _write(self, sketch: object) -> Any:
        """Return a sketch in its stored form: by the option `serialize`, or by the first of `_WRITERS` that it has."""
        if "serialize" in self.options:
            return self.options["serialize"](sketch)
        source = _writable(sketch)
        writer = next(name for name in _WRITERS if hasattr(source, name))
        return getattr(source, writer)()

    def _read(self, state: object) -> Any:
        return self._deserialize(state)

    @cached_property
    def _deserialize(self) -> Callable[[object], object]:
        """The function that reads a stored sketch: the option `deserialize`, or the method of the sketch's class.

        A sketch that is stored in its compact form is read by the class of compact sketches.
        """
        if "deserialize" in self.options:
            return self.options["deserialize"]
        reader: Callable[[Any], Any] = type(_writable(self.new())).deserialize
        return reader


def _writable(sketch: Any) -> Any:
    """Return a sketch that can be written: itself, or its compact form if only that can be."""
    if any(hasattr(sketch, name) for name in _WRITERS):
        return sketch
    return sketch.compact()
