"""Modules that the driver alone has reach executors of their own, from a session of one's own and by Spark Connect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.installed import install
from tests.quick_spark import jvm as quick_jvm

pytestmark = pytest.mark.nightly

STORY = Path(__file__).with_name("shipping_story.py")

PLUGIN = """
from muntin import Aggregate, hookimpl
from weather_units import as_celsius

class Mean(Aggregate[float, float]):
    name, version = "weather.mean", "0.3.0"
    def compute_result(self, payloads):
        return as_celsius(sum(payloads) / len(payloads))

@hookimpl
def muntin_modules():
    return [Mean]
"""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The outcomes of the steps of `shipping_story.py` in each kind of session; both share a JVM and an executor."""
    folder = tmp_path_factory.mktemp("shipping")
    for name in ("story", "connect"):
        prepare(folder / name)
    program = subprocess.run(
        [sys.executable, str(STORY), str(folder / "story")],
        cwd=folder / "story" / "empty",
        env=quick_jvm.environment(),
        timeout=900,
        check=False,
        capture_output=True,
        text=True,
    )
    assert program.returncode == 0, program.stderr[-3000:]
    outcomes: dict[str, dict[str, Any]] = json.loads(program.stdout.splitlines()[-1])
    return outcomes


def prepare(here: Path) -> None:
    """Make the packages, which are on the path of the driver alone."""
    weather = {"muntin_weather/__init__.py": "", "muntin_weather/plugin.py": PLUGIN}
    install(here / "packages", "muntin-weather", weather, plugin="weather", requires=["weather-units>=1", "muntin-sdk"])
    install(here / "packages", "weather-units", {"weather_units.py": "def as_celsius(x):\n    return x - 273\n"})
    (here / "beside").mkdir()
    (here / "beside" / "gauges.py").write_text("OFF = 0.5\ndef gauge(x):\n    return x + OFF\n")
    (here / "empty").mkdir()


@pytest.fixture(scope="module", params=["classic", "connect"])
def outcomes(request: pytest.FixtureRequest, story: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The outcome of each step of the story, by name, in each kind of session."""
    return {"kind": request.param, **story[request.param]}


def test_packages_of_the_driver_alone_are_named_with_the_place_and_the_remedies(outcomes: dict[str, Any]) -> None:
    message = outcomes["nothing shipped"]
    assert message.startswith("WorkerEnvironmentError: the workers cannot run this query\n  on ")
    assert sys.executable in message
    assert "muntin-weather is missing, the driver has 0.3.0" in message
    assert "weather-units is missing, the driver has 0.3.0" in message
    assert "pip install muntin-weather==0.3.0 weather-units==0.3.0" in message
    assert "ship(spark, 'muntin-weather', 'weather-units')" in message


def test_the_preflight_check_may_be_switched_off(outcomes: dict[str, Any]) -> None:
    assert outcomes["without preflight"] == ["window", "n", "mean", "gauged"]


def test_a_package_that_is_compiled_is_not_shipped(outcomes: dict[str, Any]) -> None:
    assert "NotShippableError: 'numpy " in outcomes["compiled"]


def test_a_dependency_that_was_not_shipped_is_named(outcomes: dict[str, Any]) -> None:
    assert outcomes["shipped"] == ["muntin-weather 0.3.0"]
    assert "weather-units is missing" in outcomes["dependency missing"]
    assert "ship(spark, 'weather-units')" in outcomes["dependency missing"]
    assert "muntin-weather is missing" not in outcomes["dependency missing"]


def test_packages_are_shipped_together(outcomes: dict[str, Any]) -> None:
    assert outcomes["shipped with it"] == ["muntin-weather 0.3.0", "weather-units 0.3.0"]


def test_a_package_may_be_shipped_twice_but_not_with_other_contents(outcomes: dict[str, Any]) -> None:
    assert outcomes["shipped"] == ["muntin-weather 0.3.0"]
    assert outcomes["shipped with it"] == ["muntin-weather 0.3.0", "weather-units 0.3.0"]
    assert "with other contents" in outcomes["shipped when changed"]


def test_a_sink_must_travel_where_it_is_called_on_a_server(story: dict[str, dict[str, Any]]) -> None:
    message = story["connect"]["locked sink"]
    assert message.startswith("QueryError: the sinks cannot travel to the Spark Connect server")


def test_modules_that_are_installed_shipped_and_of_the_script_run_side_by_side(outcomes: dict[str, Any]) -> None:
    # Count, mean in degrees Celsius, and ten times the maximum with an offset of 0.5, of 0 to 9 and of 10 to 19.
    first_window = [10, 4.5 - 273, 90.5]
    second_window = [10, 14.5 - 273, 190.5]
    assert outcomes["version"].startswith("code-")
    if outcomes["kind"] == "classic":
        assert outcomes["static"] == [first_window, second_window]
    else:
        assert "static" not in outcomes
    results, accepted_rows = outcomes["streaming"]
    assert results == [first_window]
    assert accepted_rows == 20
