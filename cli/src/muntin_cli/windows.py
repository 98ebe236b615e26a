"""Every kind of window that a query can name: Muntin's own functions, and the kinds of installed plugins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import muntin
from muntin import Aggregate
from muntin.catalog import Catalog
from muntin.catalog.named_windows import OWN_ROWS, kind_named, window
from muntin.errors import MuntinError
from muntin.rows import RowWindows
from muntin.windows import WindowKind, WindowSpecification
from muntin_cli.parameters import example_of, signature_of
from muntin_cli.survey import survey


class _Members(Aggregate[object, int]):
    """Count the members of a window, nulls too."""

    name, version = "muntin.members", "1.0.0"

    def compute_result(self, payloads: Any) -> int:
        """Return the number of members."""
        return len(payloads)


def own_windows() -> dict[str, Callable[..., WindowKind]]:
    """Return Muntin's functions that make windows, by name.

    Example:
        >>> list(own_windows())[:4]
        ['calendar', 'count_by_end', 'count_by_start', 'cumulate']
    """
    functions = {name: getattr(muntin, name) for name in muntin.__all__}
    return {name: made for name, made in functions.items() if inspect.isfunction(made) and _makes_windows(made)}


def make_windows(name: str, *values: object, **named: object) -> WindowSpecification:
    """Return windows by name, with parameters by place or by name.

    Raises:
        UnknownModuleError: Neither Muntin nor a plugin has such windows.
        TypeError: There are too few parameters, or too many.
        MuntinError: The kind does not take them.

    Example:
        >>> print(make_windows("hopping", 60, 10), make_windows("last", 10, triggers=2))
        hopping(60, 10) last(10).trigger(2)
    """
    own = own_windows()
    if name in own:
        return own[name](*values, **named)
    return window(name, **signature_of(kind_named(name)).bind(*values, **named).arguments)


def usages() -> Iterator[str]:
    """Yield the usage of each of Muntin's windows in a shell.

    Example:
        >>> [usage for usage in usages() if usage.startswith(("hopping", "session"))]
        ['hopping SIZE HOP', 'session [GAP]']
    """
    ways: dict[str, Callable[..., Any]] = {**own_windows(), **OWN_ROWS}
    for name, made in ways.items():
        required = _required(made)
        given = [each.upper() if each in required else f"[{each.upper()}]" for each in _main(made)]
        yield " ".join([name, *given])


def example_windows(catalog: Catalog) -> Iterator[tuple[str, WindowKind]]:
    """Yield windows of each kind, on an axis of time, by name: lengths are an hour, later ones ten minutes; or days."""
    for name, made in own_windows().items():
        lengths, parameters = _return_type(made).lengths, signature_of(made).parameters
        yield (
            name,
            made(
                **{
                    each: _length(place) if each in lengths else "day" if parameters[each].annotation is str else 10
                    for place, each in enumerate(_main(made))
                }
            ),
        )
    for plugin in survey(catalog).plugins:
        try:
            windows = catalog.plugin(plugin).windows
        except MuntinError:
            continue  # it loads alone, and not beside others
        for name, cls in windows.items():
            needed = [each for each in _required(cls) if each in cls.lengths]
            if not issubclass(cls, WindowKind):
                continue
            try:
                found = example_of(cls, {each: muntin.ticks(_length(place)) for place, each in enumerate(needed)})
            except MuntinError:
                continue
            if found is not None:
                yield name, found[0]


def draw_kind(kind: WindowSpecification) -> str:
    """Return three events and the windows of a kind over them, each with its number of members, in ASCII.

    Windows that follow rows have their starts; none are drawn if they read what the events hold.
    """
    from muntin.drawings import Bar, Look, timeline
    from muntin.testing import Computation, Script, WindowedQuery

    events = {"a": (1, 6), "b": (4, 9), "c": (12, 14)}
    if isinstance(kind, RowWindows):
        if kind.reads:
            return ""
        events = {id: (start, start + 1) for id, (start, _) in events.items()}
    script = Script()
    for id, (start, end) in events.items():
        script = script.insert(id, start, end)
    rows = script.close().run(WindowedQuery(kind, [Computation(_Members())])).get(None, [])
    bars = [Bar(f"event {id}", start, end) for id, (start, end) in events.items()]
    return timeline(
        [*bars, *(Bar("window", row.window.start, row.window.end, str(row.value[0]), Look.WINDOW) for row in rows)]
    )


def _makes_windows(function: Callable[..., Any]) -> bool:
    made = signature_of(function).return_annotation
    return isinstance(made, type) and issubclass(made, WindowKind)


def _return_type(function: Callable[..., WindowKind]) -> type[WindowKind]:
    made: type[WindowKind] = signature_of(function).return_annotation
    return made


def _main(callable: Callable[..., Any]) -> list[str]:
    """Return the required parameters; the first one, if none is required."""
    return _required(callable) or list(signature_of(callable).parameters)[:1]


def _required(callable: Callable[..., Any]) -> list[str]:
    return [name for name, each in signature_of(callable).parameters.items() if each.default is each.empty]


def _length(place: int) -> str:
    return "10 minutes" if place else "1 hour"
