"""`python -m release build DIST` builds and checks all distributions; `python -m release version 0.2.0` raises them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from release.building import build
from release.checking import faults_of
from release.distributions import ROOT, distributions
from release.versions import set_version


def main() -> int:
    """Run the command and return its exit code: 1 if a distribution has a fault."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("into", type=Path)
    commands.add_parser("version").add_argument("version")
    options = parser.parse_args()
    if options.command == "version":
        for file in set_version(options.version):
            print(file.relative_to(ROOT))
        return 0
    into = options.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    built = [path for each in distributions().values() for path in build(each.folder, into)]
    faults = [f"{path.name}: {fault}" for path in built for fault in faults_of(path)]
    print(*(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in built), sep="\n")
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
