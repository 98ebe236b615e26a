"""Print what the workers on this machine run: `python -m muntin_engine.workers`."""

from __future__ import annotations

import sys

from muntin_engine.workers.traces_folder import describe_workers

if __name__ == "__main__":
    sys.stdout.write(f"{describe_workers()}\n")
