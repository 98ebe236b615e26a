"""The plan of a query."""

from muntin_engine.plan.chosen_evaluator import Choice
from muntin_engine.plan.columns import Columns, NamedColumn, check_columns
from muntin_engine.plan.inputs import Input, InputPolicies, check_sources
from muntin_engine.plan.module_plan import ModulePlan, plan_module
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.query_checks import MOST_BUCKETS, check_buckets, check_kind, check_trigger

__all__ = [
    "MOST_BUCKETS",
    "Choice",
    "Columns",
    "Input",
    "InputPolicies",
    "ModulePlan",
    "NamedColumn",
    "Plan",
    "check_buckets",
    "check_columns",
    "check_kind",
    "check_sources",
    "check_trigger",
    "plan_module",
]
