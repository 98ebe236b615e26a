"""The report of `muntin backtest`: what two versions cost, how many results differ, and the largest differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin_cli.errors import UsageError
from muntin_cli.output import counted, show, show_data, show_table
from muntin_cli.recordings import spelled_value

if TYPE_CHECKING:
    from muntin_engine.recording.backtest.backtest import Backtest, VersionOutcome
    from muntin_engine.recording.backtest.comparison import ColumnDifferences, Distribution
    from muntin_engine.recording.recording import Recording

_SIZES: Final = ("B", "kB", "MB", "GB")


class BacktestReport:
    """A comparison of two versions, as it is shown."""

    def __init__(self, result: Backtest, rows: int, fail_if: str) -> None:
        """Choose the differences that are shown.

        Args:
            result: The comparison.
            rows: The number of differences that are shown.
            fail_if: The condition on a difference; empty without one.
        """
        self._result = result
        self._fail_if = fail_if
        # With a condition that differences meet, only these are of interest.
        listed = result.failing if result.failing.num_rows else result.differences
        self._is_cut = listed.num_rows > rows
        self._listed: list[dict[str, Any]] = listed.slice(0, rows).to_pylist()

    @cached_property
    def shown_keys(self) -> list[Any]:
        """The keys of the differences that are shown, each as a value or a tuple, without repetition."""
        keys: dict[str, Any] = {}
        for difference in self._listed:
            key = difference["key"]
            # By their text, as values of keys need not be hashable.
            keys[repr(key)] = tuple(key.values()) if isinstance(key, Mapping) else key
        return list(keys.values())

    def show(self) -> None:
        """Print the comparison for readers."""
        result = self._result
        old = result.old
        new = result.new
        show_table(
            ["", "old", "new"],
            [
                ["module", ", ".join(old.modules), ", ".join(new.modules)],
                ["evaluator", old.evaluator, new.evaluator],
                ["processor time", _spelled_seconds(old.processor_seconds), _spelled_seconds(new.processor_seconds)],
                ["largest state", _spelled_bytes(old.state_bytes), _spelled_bytes(new.state_bytes)],
                ["results", str(old.results), str(new.results)],
            ],
        )
        show()
        # Below the costs: how many results differ, then where, and at last the largest differences themselves.
        verb = "differs" if result.differing == 1 else "differ"
        show(f"{counted(result.differing, 'result')} {verb}, over {counted(result.rows, 'row')}")
        show(f"compared: {result.compared}")
        for note in result.notes:
            show(note)
        if result.differing:
            show()
            self._show_columns()
        if self._fail_if:
            show()
            show(f"--fail-if {self._fail_if!r}: {counted(result.failing.num_rows, 'difference')}")
        if self._listed:
            show()
            self._show_differences()

    def _show_columns(self) -> None:
        """Print the summary of each column."""
        heads = ["column", "changed", "only old", "only new"]
        has_distributions = any(column.distribution for column in self._result.columns)
        if has_distributions:
            heads += ["new - old: least", "quartile", "median", "quartile", "largest", "mean"]
        lines: list[list[str]] = []
        for column in self._result.columns:
            line = [column.name, *map(str, column.counts.values())]
            if column.distribution is not None:
                line += _spelled_distribution(column.distribution)
            missing_cells = len(heads) - len(line)  # a column of texts has no distribution
            lines.append(line + [""] * missing_cells)
        show_table(heads, lines)

    def _show_differences(self) -> None:
        """Print the largest differences, or those of them that meet the condition."""
        # Columns that say where a result lies, such as its window, stand between its key and its values.
        shown_elsewhere = ("column", "key", "kind", "old", "new", "difference")
        place_names = [name for name in self._listed[0] if name not in shown_elsewhere]
        lines: list[list[str]] = []
        for difference in self._listed:
            size = difference["difference"]
            places = [spelled_value(difference[name]) for name in place_names]
            lines.append(
                [
                    difference["column"],
                    _spelled_key(difference["key"]),
                    *places,
                    spelled_value(difference["old"]),
                    spelled_value(difference["new"]),
                    difference["kind"] if size is None else _spelled_number(size),  # only numbers have a size
                ]
            )
        show_data(["column", "key", *place_names, "old", "new", "new - old"], lines)
        if self._is_cut:
            show(f"... these are the first {len(lines)}; --rows shows more, and --output writes all")

    def as_data(self) -> dict[str, Any]:
        """Return the comparison as data for programs, with the differences that are shown."""
        result = self._result
        return {
            "old": _version_as_data(result.old),
            "new": _version_as_data(result.new),
            "compared": result.compared,
            "rows": result.rows,
            "differing": result.differing,
            "columns": [_column_as_data(column) for column in result.columns],
            "notes": list(result.notes),
            "failing": result.failing.num_rows,
            "differences": self._listed,
        }


def write_pages(folder: Path, old: Recording, new: Recording, keys: Sequence[Any]) -> None:
    """Write the page of each version, with the rows of some keys.

    Raises:
        UsageError: The pages cannot be written.
    """
    from muntin_cli.story_page.page import page_of

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, recording in (("old", old), ("new", new)):
            story = recording.story(keys)
            (folder / f"{name}.html").write_text(page_of(story), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}\n  name another folder: --page") from error


def _version_as_data(version: VersionOutcome) -> dict[str, Any]:
    """Return the costs and the results of a version as data for programs."""
    return {**version._asdict(), "modules": list(version.modules)}


def _column_as_data(column: ColumnDifferences) -> dict[str, Any]:
    """Return the differences of one column as data for programs; the differences of numbers as a distribution."""
    distribution = column.distribution
    return {
        "column": column.name,
        "old_type": str(column.old_type),
        "new_type": str(column.new_type),
        "counts": dict(column.counts),
        "distribution": None if distribution is None else asdict(distribution),
    }


def _spelled_key(key: Any) -> str:
    """Return a key as `--key` takes it."""
    return ",".join(map(spelled_value, key.values())) if isinstance(key, Mapping) else spelled_value(key)


def _spelled_distribution(distribution: Distribution) -> list[str]:
    """Return a distribution as the cells of a line, without the number of differences."""
    values = asdict(distribution)
    del values["count"]
    return list(map(_spelled_number, values.values()))


def _spelled_number(value: float) -> str:
    return f"{value:.6g}"


def _spelled_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _spelled_bytes(size: float) -> str:
    """Return a number of bytes in the largest unit of which there is at least one."""
    for unit in _SIZES[:-1]:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} {_SIZES[-1]}"
