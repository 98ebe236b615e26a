"""Modules made of modules: over chosen or converted payloads, per group, several at once, with errors as results.

Each function takes a module, by name or as a class, and returns a module class with the same parameters and
capabilities. The class is used like any module: `module(filtering("stats.average", is_long), "delay")`.
"""

from muntin_adapters.combinators.all_of import all_of
from muntin_adapters.combinators.catching import Caught, catching
from muntin_adapters.combinators.filtering import filtering
from muntin_adapters.combinators.flat_mapping import flat_mapping
from muntin_adapters.combinators.grouping_by import Grouped, GroupMember, grouping_by
from muntin_adapters.combinators.mapping import mapping
from muntin_adapters.combinators.preset import preset
from muntin_adapters.combinators.skipping_nulls import skipping_nulls
from muntin_adapters.combinators.sorting import sorting
from muntin_adapters.combinators.top_n import Ranked, top_n
from muntin_adapters.combinators.with_default import with_default

__all__ = [
    "Caught",
    "GroupMember",
    "Grouped",
    "Ranked",
    "all_of",
    "catching",
    "filtering",
    "flat_mapping",
    "grouping_by",
    "mapping",
    "preset",
    "skipping_nulls",
    "sorting",
    "top_n",
    "with_default",
]
