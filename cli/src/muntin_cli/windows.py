"""Every kind of window that a query can name: Muntin's own functions, and the kinds of installed plugins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import muntin
from muntin import Aggregate
from muntin.catalog import Catalog
from muntin.catalog.named_windows import OWN_ROWS, kind_named, window
from muntin.definitions.methods import signature_of
from muntin.errors import MuntinError
from muntin.rows import RowWindows
from muntin.windows import WindowKind, WindowSpecification
from muntin_cli.parameters import example_of
from muntin_cli.survey import survey


class _Members(Aggregate[object, int]):
    """Count the members of a window, nulls too."""

    name, version = "muntin.members", "1.0.0"

    def compute_result(self, payloads: Any) -> int:
        """Return the number of members."""
        return len(payloads)


def own_windows() -> dict[str, Callable[..., WindowKind]]:
    """Return the functions of the package `muntin` that make windows, by name.

    Example:
        >>> list(own_windows())[:4]
        ['calendar', 'count_by_end', 'count_by_start', 'cumulate']
    """
    functions: dict[str, Callable[..., WindowKind]] = {}
    for name in muntin.__all__:
        value = getattr(muntin, name)
        if inspect.isfunction(value) and _makes_windows(value):
            functions[name] = value
    return functions


def make_windows(name: str, *values: object, **named_values: object) -> WindowSpecification:
    """Return windows by name, with parameters by place or by name.

    Raises:
        UnknownModuleError: Neither Muntin nor a plugin has such windows.
        TypeError: There are too few parameters, or too many.
        MuntinError: The kind does not take the parameters.

    Example:
        >>> print(make_windows("hopping", 60, 10), make_windows("last", 10, triggers=2))
        hopping(60, 10) last(10).trigger(2)
    """
    functions = own_windows()
    if name in functions:
        return functions[name](*values, **named_values)
    # A plugin's kind takes its parameters by name: the signature of its class has the names of those by place.
    arguments = signature_of(kind_named(name)).bind(*values, **named_values).arguments
    return window(name, **arguments)


def usages() -> Iterator[str]:
    """Yield the usage of each of Muntin's windows in a shell.

    Example:
        >>> [usage for usage in usages() if usage.startswith(("hopping", "session"))]
        ['hopping SIZE HOP', 'session [GAP]']
    """
    functions: dict[str, Callable[..., Any]] = {**own_windows(), **OWN_ROWS}
    for name, function in functions.items():
        required = _required(function)
        words = [name]
        for parameter in _main_parameters(function):
            word = parameter.upper()
            words.append(word if parameter in required else f"[{word}]")
        yield " ".join(words)


def example_windows(catalog: Catalog) -> Iterator[tuple[str, WindowKind]]:
    """Yield an example of each kind of windows, on an axis of time, by name.

    The first length of a kind is an hour, the next ones are ten minutes.
    """
    for name, function in own_windows().items():
        yield name, function(**_example_parameters(function))
    for plugin in survey(catalog).plugins:
        try:
            windows = catalog.plugin(plugin).windows
        except MuntinError:
            continue  # it loads alone, but not beside others
        for name, cls in windows.items():
            if not issubclass(cls, WindowKind):
                continue  # windows that follow rows are not evaluated over lifetimes
            # A length has to be a time here; other required parameters are chosen by their types.
            lengths = [parameter for parameter in _required(cls) if parameter in cls.lengths]
            parameters = {length: muntin.ticks(_length(place)) for place, length in enumerate(lengths)}
            try:
                example = example_of(cls, parameters)
            except MuntinError:
                continue
            if example is not None:
                kind, _ = example
                yield name, kind


def _example_parameters(function: Callable[..., WindowKind]) -> dict[str, Any]:
    """Return parameters for one of Muntin's functions that make windows."""
    signature = signature_of(function).parameters
    lengths = _return_type(function).lengths
    parameters: dict[str, Any] = {}
    for place, name in enumerate(_main_parameters(function)):
        if name in lengths:
            parameters[name] = _length(place)
        elif signature[name].annotation is str:
            parameters[name] = "day"  # the unit of a calendar
        else:
            parameters[name] = 10  # a count
    return parameters


def draw_kind(kind: WindowSpecification) -> str:
    """Draw three events in ASCII, and the windows of a kind over them with the number of their members.

    Windows that follow rows see points at the starts of the events. If they read payloads, the drawing is empty.
    """
    from muntin.drawings import Bar, Look, timeline
    from muntin.testing import Computation, Script, WindowedQuery

    events = {"a": (1, 6), "b": (4, 9), "c": (12, 14)}
    if isinstance(kind, RowWindows):
        if kind.reads:
            return ""
        events = {id: (start, start + 1) for id, (start, _) in events.items()}
    # The drawing is that of the reference evaluator, which needs no engine.
    script = Script()
    for id, (start, end) in events.items():
        script = script.insert(id, start, end)
    rows = script.close().run(WindowedQuery(kind, [Computation(_Members())])).get(None, [])
    bars = [Bar(f"event {id}", start, end) for id, (start, end) in events.items()]
    for row in rows:
        (member_count,) = row.value
        bars.append(Bar("window", row.window.start, row.window.end, str(member_count), Look.WINDOW))
    return timeline(bars)


def _makes_windows(function: Callable[..., Any]) -> bool:
    """Return True if the annotation of a function says that it returns windows that cut the axis."""
    return_type = signature_of(function).return_annotation
    return isinstance(return_type, type) and issubclass(return_type, WindowKind)


def _return_type(function: Callable[..., WindowKind]) -> type[WindowKind]:
    """Return the kind of windows that a function makes, by its annotation."""
    return_type: type[WindowKind] = signature_of(function).return_annotation
    return return_type


def _main_parameters(callable: Callable[..., Any]) -> list[str]:
    """Return the names of the required parameters; if none is required, the name of the first one."""
    return _required(callable) or list(signature_of(callable).parameters)[:1]


def _required(callable: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters without a default."""
    parameters = signature_of(callable).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


def _length(place: int) -> str:
    """Return an example of a kind's length: an hour for the first one, ten minutes for those after it."""
    return "10 minutes" if place else "1 hour"
