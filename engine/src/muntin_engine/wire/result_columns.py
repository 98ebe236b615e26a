"""The results of a module as columns, with errors that say where a wrong value came up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter

import pyarrow as pa

from muntin import Window
from muntin.errors import ModuleContractError
from muntin.errors.safe_text import safe_cause, safe_repr
from muntin.query_checks import undeclared_result
from muntin.schemas import Field, Struct
from muntin_engine.time.changes import Key
from muntin_engine.wire.overflows import Overflow
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.typed_arrays import MisfitError, first_misfit, first_unheld, part_of, to_arrow, unreadable_part


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """Makes Arrow columns of the results of a module, and errors for those that are not as it declares.

    Attributes:
        task: The query.
        label: The module, by name and version.
        locate: The function that returns the key and the window of a result, by its place.
    """

    task: TaskPayload
    label: str
    locate: Callable[[int], tuple[Key, Window]]

    def column(self, values: Sequence[object], output: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return results as a column. Values that the column cannot hold become null or infinite, and are counted.

        Args:
            values: The results.
            output: The declaration of the column.
            arrow_type: The Arrow type of the column.

        Raises:
            ModuleContractError: A value is not of the type that the module declares.
            ResultOverflowError: The column cannot hold a value, and `spark.muntin.overflow.fail` makes this an error.
        """
        unheld: list[object] = []
        try:
            column = to_arrow(values, output, arrow_type, unheld)
        except MisfitError as error:
            raise self.contract_error(str(error), first_misfit(values, output, arrow_type)) from error
        if unheld:
            self._add_overflow(values, output, arrow_type, unheld)
        return column

    def part(self, rows: Sequence[object], row: Field, place: int, output: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return one column of an operator's rows: a field of each if they are records, else the rows themselves.

        Args:
            rows: The rows.
            row: The declaration of the rows.
            place: The place of the field.
            output: The declaration of the column.
            arrow_type: The Arrow type of the column.

        Raises:
            ModuleContractError: A row, or the field of one, is not of the type that the module declares.
        """
        if not isinstance(row.type, Struct):
            return self.column(rows, output, arrow_type)
        return self.column(self._parts(rows, row.type, place), output, arrow_type)

    def contract_error(self, problem: str, place: int | None = None) -> ModuleContractError:
        """Return the error for a result that is not as its module declares.

        Args:
            problem: The value and the declaration, in words.
            place: The place of the result; None if it is not known.
        """
        where = ""
        if place is not None:
            key, window = self.locate(place)
            where = f"  key: {safe_repr(key)}\n  window: {self._spell(window)}\n"
        return undeclared_result(self.label, problem, where)

    def _add_overflow(
        self, values: Sequence[object], output: Field, arrow_type: pa.DataType, unheld: Sequence[object]
    ) -> None:
        """Count values that a column cannot hold, with the key and the window of the first one.

        Args:
            values: All results.
            output: The declaration of the column.
            arrow_type: The Arrow type of the column.
            unheld: The values, or parts of values, that the column cannot hold.
        """
        key, window = self.locate(first_unheld(values, output, arrow_type))
        overflow = Overflow(
            module=self.label,
            column=output.name,
            arrow_type=str(arrow_type),
            value=safe_repr(unheld[0]),
            key=safe_repr(key),
            window=self._spell(window),
            is_infinite=pa.types.is_floating(arrow_type),
        )
        self.task.overflows.add(overflow, len(unheld))

    def _spell(self, window: Window) -> str:
        """Return a window in words."""
        return self.task.query.axis.spell_interval(window.start, window.end)

    def _parts(self, rows: Sequence[object], row: Struct, place: int) -> list[object]:
        """Return one field of each of an operator's rows, which may be tuples, dataclasses or mappings.

        Args:
            rows: The rows.
            row: The declaration of the rows.
            place: The place of the field.

        Raises:
            ModuleContractError: A row has no such field, or its field cannot be read.
        """
        classes = set(map(type, rows))
        # Plain tuples of the declared length, and objects with attributes, are read without a step in Python for each.
        if classes == {tuple} and set(map(len, rows)) == {len(row.fields)}:  # type: ignore[arg-type]
            return list(map(itemgetter(place), rows))  # type: ignore[arg-type]
        name = row.fields[place].name
        has_mapping = any(issubclass(cls, Mapping) for cls in classes)
        if name.isidentifier() and not has_mapping and tuple not in classes:
            read: Callable[[object], object] = attrgetter(name)
        else:
            read = partial(part_of, struct=row, place=place)  # which decides row by row how its field is read

        # If a row fails, the list has the fields of all rows before it, so its length says which row failed.
        parts: list[object] = []
        try:
            parts.extend(map(read, rows))
        except MisfitError as error:
            raise self.contract_error(str(error), len(parts)) from error
        except BaseException as error:  # a property of the module's own class may raise anything
            misfit = unreadable_part(rows[len(parts)], row, place, error)
            raise self.contract_error(str(misfit), len(parts)) from safe_cause(error)
        return parts
