"""The demo's three files for a week of flights, against plain pandas."""

import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, run

import pandas as pd
import pytest

from demo.run import Choice
from tests.demo import truth

WEEK = 7
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files for a week."""
    folder = tmp_path_factory.mktemp("demo")
    finished = run([*DEMO, "--folder", folder], cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True, check=False)

    assert (finished.returncode, finished.stderr) == (0, "")
    assert "no key has state left" in finished.stdout
    return folder


DEMO = [sys.executable, "-m", "demo", "--days", str(WEEK)]


@pytest.mark.parametrize("question", [truth.airborne, truth.delays, truth.cascades])
def test_a_week_of_answers_is_what_plain_pandas_says(
    answers: Path, question: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    expected = question(Choice(days=WEEK).flights())
    found = pd.read_parquet(answers / f"{question.__name__}.parquet")
    order = list(expected.columns[:3])

    assert len(expected) > 0
    pd.testing.assert_frame_equal(
        found.sort_values(order, ignore_index=True).astype(expected.dtypes),
        expected.sort_values(order, ignore_index=True),
    )


def test_times_are_timestamps_in_utc(answers: Path) -> None:
    dtypes = {name: pd.read_parquet(answers / f"{name}.parquet").dtypes.astype(str) for name in ("airborne", "cascades")}

    assert dtypes["airborne"]["start"] == dtypes["airborne"]["end"] == "datetime64[us, UTC]"
    assert dtypes["cascades"]["arrival"] == dtypes["cascades"]["departure"] == "datetime64[us, UTC]"
