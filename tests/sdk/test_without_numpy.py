"""NumPy is an extra: what works without it, and what is said where it is needed."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None

from muntin import ColumnarAggregate, Component
from muntin.schemas import spell


class Mean(ColumnarAggregate[float, float]):
    name, version = "demo.mean", "1.0.0"

    def components(self):
        return {"total": Component.sum(), "least": Component.min(), "count": Component.count()}

    def lift(self, payloads):
        return {"total": payloads, "least": payloads}

    def compute_results(self, components):
        return components["total"] / components["count"]


mean = Mean()
"""


def run(program: str) -> str:
    """Run a program where there is no NumPy, and which has a columnar aggregate `mean`; return its output."""
    code = WITHOUT_NUMPY + textwrap.dedent(program)
    completed = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.strip()


def test_a_columnar_aggregate_is_defined_and_described_without_numpy() -> None:
    output = run("""
        Mean.check_definition()
        assert hasattr(mean, "columnar_form")
        assert mean.columnar_form(mean.input_field()) is mean
        assert mean.components() == Mean().components()
        print(spell(Mean.input_field()), spell(Mean.result_field()), *mean.components())
    """)
    assert output == "float float total least count"


@pytest.mark.parametrize(
    "call",
    [
        "mean.create_state()",
        "mean.add_events({}, [1.0])",
        "mean.combine({}, {})",
        "mean.compute_result({})",
        "__import__('muntin.columnar')",
    ],
)
def test_computing_without_numpy_says_how_to_get_it(call: str) -> None:
    output = run(f"""
        try:
            {call}
        except ImportError as error:
            print(error, error.name, type(error.__cause__).__name__, sep="; ")
    """)
    message = "columnar aggregates need NumPy, which is not installed\n  to do: pip install 'muntin-sdk[columnar]'"
    assert output == f"{message}; numpy; ModuleNotFoundError"
