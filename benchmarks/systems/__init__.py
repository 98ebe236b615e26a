"""The systems that are compared."""

from benchmarks.systems.all_systems import SCRIPTS, all_systems
from benchmarks.systems.system import ANSWERS, System

__all__ = ["ANSWERS", "SCRIPTS", "System", "all_systems"]
