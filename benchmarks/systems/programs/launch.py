"""Run a script, and print what its process took as the system reports it, as a line of JSON after its output.

This process is small, as the greatest memory of a process begins with that of the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
import time

_UNIT = 1 if sys.platform == "darwin" else 1024
"""The unit in which the system reports the greatest memory of a process, in bytes."""


def main(script: str, *arguments: str) -> None:
    """Run a script to its end.

    Args:
        script: The file of the script.
        arguments: Its arguments.
    """
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled, and so are these
    started = time.monotonic()
    process = os.posix_spawn(sys.executable, [sys.executable, script, *arguments], environment)
    _, status, usage = os.wait4(process, 0)
    report = {
        "seconds": time.monotonic() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * _UNIT,
    }
    sys.stdout.write(f"\n{json.dumps(report)}\n")
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
