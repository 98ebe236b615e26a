"""States of older versions, where a combinator wraps the form that upgrades them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

from muntin.modules.columnar_aggregate import Form
from muntin.schemas.components import ColumnarState


@dataclass(frozen=True, slots=True)
class _Translated:
    """An `upgrade_state` that is told the version of a module around the form's own."""

    form: Any
    inner: Callable[[str], str]

    def __call__(self, state: ColumnarState, version: str) -> ColumnarState:
        upgraded: ColumnarState = self.form.upgrade_state(state, self.inner(version))
        return upgraded


def with_inner_version(form: Form, inner: Callable[[str], str]) -> Form:
    """Return a form for a module around the one whose form it is.

    Args:
        form: The form; itself if it has no `upgrade_state`.
        inner: Returns the version of the module inside, from that of the one around it.
    """
    if not hasattr(form, "upgrade_state"):
        return form
    outer = copy(form)
    vars(outer)["upgrade_state"] = _Translated(form, inner)  # an instance's own: the class keeps the method it has
    return outer
