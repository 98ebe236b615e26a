"""States of older versions, where a combinator wraps the form that upgrades them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

from muntin.modules.columnar_aggregate import Form
from muntin.schemas.components import ColumnarState


@dataclass(frozen=True, slots=True)
class _UpgradeByOuterVersion:
    """The `upgrade_state` of a form, called with versions of the module around it."""

    form: Any
    inner_version: Callable[[str], str]

    def __call__(self, state: ColumnarState, version: str) -> ColumnarState:
        upgraded: ColumnarState = self.form.upgrade_state(state, self.inner_version(version))
        return upgraded


def with_inner_version(form: Form, inner_version: Callable[[str], str]) -> Form:
    """Return a copy of a form whose `upgrade_state` takes versions of the module around it.

    A form without `upgrade_state` is returned as it is.

    Args:
        form: Form of the wrapped module.
        inner_version: Function from a version of the wrapping module to that of the wrapped one.
    """
    if not hasattr(form, "upgrade_state"):
        return form
    outer = copy(form)
    # The instance's attribute hides the method of the class, which other instances keep.
    vars(outer)["upgrade_state"] = _UpgradeByOuterVersion(form, inner_version)
    return outer
