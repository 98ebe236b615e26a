"""A plugin that breaks every law: it has a module for each law and shape. A test fails if a law misses its fault."""

from .cast import HONEST, HOSTILE
from .crowded import CROWDED, FirstFifty, TopTen
from .functions import HOSTILE_FUNCTIONS, honest_function, honest_vectorised_function
from .triggers import HOSTILE_TRIGGERS, VALUES, honest_triggers

__all__ = [
    "CROWDED",
    "HONEST",
    "HOSTILE",
    "HOSTILE_FUNCTIONS",
    "HOSTILE_TRIGGERS",
    "VALUES",
    "FirstFifty",
    "TopTen",
    "honest_function",
    "honest_triggers",
    "honest_vectorised_function",
]
