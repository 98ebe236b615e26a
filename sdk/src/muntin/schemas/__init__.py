"""Schemas: the types of payloads, results and states, from the annotations and components that a module declares."""

from muntin.schemas.annotations import describe
from muntin.schemas.fields import (
    DataType,
    Field,
    Growth,
    ListOf,
    MapOf,
    OneOf,
    Scalar,
    ScalarKind,
    Struct,
    Variable,
    bind,
    growing,
    spell,
    variables_in,
)

__all__ = [
    "DataType",
    "Field",
    "Growth",
    "ListOf",
    "MapOf",
    "OneOf",
    "Scalar",
    "ScalarKind",
    "Struct",
    "Variable",
    "bind",
    "describe",
    "growing",
    "spell",
    "variables_in",
]
