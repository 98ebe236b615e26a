"""The laws of the sink: rows arrive exactly once, whatever line it crashes at."""

import json
from pathlib import Path
from typing import Any

from muntin_engine.testing import check_sink

from muntin_myplugin.json_folder import JsonFolder


def test_rows_arrive_exactly_once(tmp_path: Path) -> None:
    def make_sink(place: str) -> JsonFolder:
        return JsonFolder(tmp_path / place)

    def read_rows(place: str) -> list[dict[str, Any]]:
        files = sorted((tmp_path / place).glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    check_sink(make_sink, read_rows)
