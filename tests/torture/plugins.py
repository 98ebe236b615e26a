"""Broken packages beside good ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.sdk.installation import offering
from tests.torture.bad_packages import ENTRY_POINTS, HARMLESS, SOURCES
from tests.torture.kind import Figures


def bad_plugins(seed: int, folder: Path) -> Figures:
    """List the modules of good and bad packages: every good one is there, every bad one is named, and queries run."""
    random = Random(seed)
    good = [f"good{number}" for number in range(random.randint(1, 3))]
    faults = random.sample([*SOURCES, *ENTRY_POINTS], random.randint(1, 4))
    return survive(faults, good, folder)


def survive(faults: list[str], good: list[str], folder: Path) -> Figures:
    """Install packages with these faults beside good ones, list them all, and look up a module of an installed one."""
    for name in good:
        _install(folder, name, offering(f"{name}.one"), f"[muntin]\n{name} = plugin_{name}\n".encode())
    for number, fault in enumerate(faults):
        # A fault is in the source or in the entry points, where the plugin is called `bad`: here it gets a number.
        name = f"bad{number}"
        entries = ENTRY_POINTS.get(fault, b"[muntin]\nbad = plugin_bad\n")
        entries = entries.replace(b"bad =", f"{name} =".encode()).replace(b"plugin_bad", f"plugin_{name}".encode())
        source = SOURCES.get(fault, offering("stats.average"))
        source = source.replace("'bad.", f"'{name}.").replace('"bad.', f'"{name}.')
        source = source.replace("plugin_bad", f"plugin_{name}")
        _install(folder, name, source, entries)

    listing = _run(folder, "-m", "muntin_cli", "modules")
    for name in good:
        assert f"{name}.one" in listing, f"{faults}: {name}.one is hidden\n{listing}"
    assert "stats.average" in listing, f"{faults}: the plugins of this environment are hidden\n{listing}"
    for number, fault in enumerate(faults):
        assert fault in HARMLESS or f"bad{number}" in listing, f"bad{number}, which {fault}, is not named\n{listing}"
    assert "Traceback" not in listing, listing
    assert len(listing) < 20_000 + 4_000 * len(faults), f"{faults}: {len(listing):,} characters are printed"

    module_names = ["stats.average", *(f"{name}.one" for name in good)]
    look_up = f"from muntin import catalog\nfor n in {module_names}: print(catalog.installed().module(n))"
    output = _run(folder, "-c", look_up)
    assert "muntin_stats" in output, f"{faults}: a query does not find stats.average\n{output}"
    assert "Traceback" not in output, output
    return {"installations": 1, "good packages": len(good), "bad packages": len(faults)}


def _run(folder: Path, *command: str) -> str:
    """Run Python where the packages of a folder are installed too, and return all that it prints."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "MUNTIN_PLUGIN_SECONDS": "20",
    }
    process = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    return process.stdout + process.stderr


def _install(folder: Path, name: str, source: str, entry_points: bytes) -> None:
    """Put a package into a folder as pip would: its module, and what it says of itself."""
    (folder / f"plugin_{name}.py").write_text(source, encoding="utf-8", errors="surrogateescape")
    info = folder / f"muntin_{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: muntin-{name}\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_bytes(entry_points)
