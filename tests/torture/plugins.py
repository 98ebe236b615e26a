"""Broken packages beside good ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

from tests.sdk.installation import AGGREGATE, offering
from tests.torture.kind import Figures

START: Final = "from muntin import Aggregate, hookimpl\n"
OFFER: Final = "\n@hookimpl\ndef muntin_modules():\n    return "
NAMELESS: Final = (
    "class A(Aggregate[float, float]):\n    version = '1'\n    def compute_result(self, payloads): return 0.0\n"
)

SOURCES: Final[Mapping[str, str]] = {
    "does not parse": "def (:\n",
    "raises at import": "raise RuntimeError('no')\n",
    "exits at import": "raise SystemExit(3)\n",
    "imports what is not there": "import there_is_no_such_package\n",
    "offers a number": f"{START}{OFFER}3\n",
    "offers strings": f"{START}{OFFER}['a', 'b']\n",
    "offers nothing at all": f"{START}{OFFER}None\n",
    "implements a hook that is none": f"{START}@hookimpl\ndef muntin_windmills():\n    return []\n",
    "raises in the hook": f"{START}{OFFER}1 / 0\n",
    "prints": "print('{\"this is\": \"not json\"')\nraise ValueError('printed')\n",
    "offers a class without a name": f"{START}{NAMELESS}{OFFER}[A]\n",
    "offers another's name": f"{START}{AGGREGATE.format(cls='A', name='stats.average')}{OFFER}[A]\n",
}
"""Sources of plugins that cannot be used."""

ENTRY_POINTS: Final[Mapping[str, bytes]] = {
    "entry points without a value": b"[muntin]\nbad\n",
    "entry points that are no text": b"[muntin]\nbad = \xff\xfe\n",
    "entry points without a section": b"bad = bad\n",
    "entry points with a value that is no name": b"[muntin]\nbad = 3 % 4\n",
    "entry points that are empty": b"",
    "entry points that name what is not there": b"[muntin]\nbad = there_is_no_such_module\n",
}
"""Files that importlib.metadata trips over."""

HARMLESS: Final = ("entry points that are empty", "entry points without a section")
"""They offer nothing, so there is nothing to name."""


def bad_plugins(seed: int, folder: Path) -> Figures:
    """List the modules of good and bad packages: every good one is there, every bad one is named."""
    random = Random(seed)
    good = [f"good{number}" for number in range(random.randint(1, 3))]
    faults = random.sample([*SOURCES, *ENTRY_POINTS], random.randint(1, 4))
    for name in good:
        _install(folder, name, offering(f"{name}.one"), f"[muntin]\n{name} = plugin_{name}\n".encode())
    for number, fault in enumerate(faults):
        name = f"bad{number}"
        entries = ENTRY_POINTS.get(fault, f"[muntin]\nbad = plugin_{name}\n".encode())
        entries = entries.replace(b"bad =", f"{name} =".encode())
        _install(folder, name, SOURCES.get(fault, ""), entries)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-m", "muntin_cli", "modules"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    told = done.stdout + done.stderr
    for name in good:
        assert f"{name}.one" in done.stdout, f"{faults}: {name}.one is hidden\n{told}"
    assert "stats.average" in done.stdout, f"{faults}: the plugins of this environment are hidden\n{told}"
    for number, fault in enumerate(faults):
        assert fault in HARMLESS or f"bad{number}" in told, f"bad{number}, which {fault}, is not named\n{told}"
    assert "Traceback" not in told, told
    return {"installations": 1, "good packages": len(good), "bad packages": len(faults)}


def _install(folder: Path, name: str, source: str, entry_points: bytes) -> None:
    (folder / f"plugin_{name}.py").write_text(source, encoding="utf-8")
    info = folder / f"muntin_{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: muntin-{name}\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_bytes(entry_points)
