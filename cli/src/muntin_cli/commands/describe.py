"""`muntin describe`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from muntin import ClipPolicy, TimestampPolicy
from muntin.catalog import installed
from muntin_cli.commands.reporting import AsJson, IsWide, With, reports_errors
from muntin_cli.description import Description
from muntin_cli.description import describe as describe_module
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.exit_codes import ExitCode
from muntin_cli.laws import LAWS_NEED, has_laws
from muntin_cli.output import indented, show, show_json, show_table
from muntin_cli.parameters import parse_parameters
from muntin_cli.waiting_line import WaitingLine

EXAMPLE: Final = """\b
Examples:
  muntin describe stats.quantile --with q=0.9
  muntin describe checkpoints/hours

It prints the docstring, facts, laws, and the evaluation under each kind of window; of a checkpoint, its query as YAML.
"""
"""The end of the help."""


@reports_errors
def describe(
    name: Annotated[str, typer.Argument(help="The full name of a module, function or trigger; or a checkpoint.")],
    parameters: With = None,
    is_wide: IsWide = False,
    as_json: AsJson = False,
) -> ExitCode:
    """Describe a module, or the query of a checkpoint.

    A module has parameters, types, laws, a clip, and an evaluation per kind of window.
    """
    # A checkpoint may lie elsewhere, as in s3://bucket/checkpoint; no name of a module has a slash.
    if "/" in name or Path(name).is_dir():
        if parameters:
            raise UsageError(f"{name} is a checkpoint, whose query has its parameters\n  leave --with out")
        _show_queries(name, as_json=as_json)
        return ExitCode.OK
    with WaitingLine(f"describing {name}"):
        description = describe_module(installed(), name, parse_parameters(parameters or []))
    if as_json:
        show_json(asdict(description))
    else:
        _show(description, is_wide=is_wide)
    return ExitCode.OK


def _show_queries(checkpoint: str, *, as_json: bool) -> None:
    """Print the query of a checkpoint, or the queries of one pass, as YAML."""
    if not can_evaluate():
        raise EnvironmentLacksError("a checkpoint is read with Spark: pip install 'muntin[spark]'")
    if not as_json and find_spec("yaml") is None:
        raise EnvironmentLacksError("YAML needs PyYAML: pip install 'muntin-cli[engine]', or ask for --json")
    from muntin_engine import read_query, spark_session

    with WaitingLine("reading the checkpoint with Spark"):
        data = read_query(spark_session(), checkpoint)
    if as_json:
        show_json(data)
        return
    import yaml

    show(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, allow_unicode=True, width=100).rstrip())


def _show(description: Description, *, is_wide: bool) -> None:
    """Show a description: the facts, a drawing, the laws, and how queries evaluate the module."""
    offer = description.offer
    show(f"{offer.name} {offer.version}\n")
    if description.documentation:
        show(f"{indented(description.documentation)}\n")
    show_table((), list(_facts(description)), is_wide=is_wide)
    example = ", ".join(f"{name}={value!r}" for name, value in (description.example or {}).items())
    if description.drawing:
        with_example = f" with {example}" if example else ""
        show(f"\nwindows{with_example}\n{indented(description.drawing)}")
    if description.laws:
        show("\nlaws")
        show_table((), [(f"  {law}", statement) for law, statement in description.laws.items()], is_wide=is_wide)
    elif not has_laws():
        show(f"\nits laws are listed {LAWS_NEED}")
    if description.evaluations:
        and_example = f" and {example}" if example else ""
        show(f"\nevaluation, for final results{and_example}")
        rows: list[tuple[str, ...]] = []
        for evaluation in description.evaluations:
            window = f"  {evaluation.window}, {evaluation.events}"
            rows.append((window, evaluation.evaluator or "none", evaluation.row, evaluation.reason))
        show_table(("  window", "evaluator", "a row costs", "why"), rows, is_wide=is_wide)
    elif description.clips and not can_evaluate():
        show("\nhow it is evaluated is known where muntin-engine is installed: pip install 'muntin-cli[engine]'")


def _facts(description: Description) -> Iterator[tuple[str, str]]:
    """Yield the lines of the table of facts: a word and its text. Facts that the offer does not have are left out."""
    offer = description.offer
    yield "from", f"{offer.distribution}, {offer.source}"
    yield "shape", offer.shape
    yield "parameters", "\n".join(map(str, description.parameters)) or "none"
    if offer.reads:
        yield "reads", offer.reads
    yield "returns", offer.returns
    if description.state:
        yield "state", description.state
        yield "can", ", ".join(description.capabilities) or "only add"
    if description.clips:
        yield "clip", _clip(description)
    if description.needs:
        yield "needs", description.needs
    if description.default_timestamps not in ("", TimestampPolicy.ALIGN):
        yield "timestamps", f"{description.default_timestamps} unless a query names others"
    if description.contract:
        yield "contract", description.contract


def _clip(description: Description) -> str:
    """Return in words the clips that a module accepts, and the one of a query that names none."""
    is_any = len(description.clips) == len(ClipPolicy)
    accepted = "any" if is_any else f"only {' or '.join(description.clips)}"
    if description.default_clip in ("", ClipPolicy.NONE):
        return accepted if is_any else f"{accepted}; the default will do"
    return f"{accepted}; {description.default_clip} unless a query names another"
