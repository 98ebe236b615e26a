"""The systems that are compared."""

from benchmarks.systems.all_systems import SCRIPTS, all_systems
from benchmarks.systems.system import System

__all__ = ["SCRIPTS", "System", "all_systems"]
