"""What a module can do to the worker that it runs in, as Python source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from muntin import Aggregate

DESCRIPTORS: Final[Mapping[str, str]] = {
    "closes all descriptors": "import os\nos.closerange(0, 1000)",
    "closes all but the first three": "import os\nos.closerange(3, 1000)",
    "closes the standard output": "import sys\nsys.stdout.close()",
    "closes the standard error": "import sys\nsys.stderr.close()",
    "closes the standard input": "import os\nos.close(0)",
    "closes one descriptor after the other": (
        "import os\nfor n in range(3, 300):\n    try: os.close(n)\n    except OSError: pass"
    ),
    "closes its sockets": (
        "import gc, socket\nfor s in gc.get_objects():\n    if isinstance(s, socket.socket): s.detach(); s.close()"
    ),
    "shuts its sockets down": (
        "import os, socket, stat\nfor n in range(3, 300):\n    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode): socket.socket(fileno=os.dup(n)).shutdown(2)\n"
        "    except OSError: pass"
    ),
    "puts a file in the place of each descriptor": (
        "import os\nnull = os.open(os.devnull, os.O_RDWR)\nfor n in range(3, 300):\n"
        "    if n != null:\n        try: os.fstat(n); os.dup2(null, n)\n        except OSError: pass"
    ),
    "writes into its sockets": (
        "import os, stat\nfor n in range(3, 300):\n    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode): os.write(n, b'x' * 64)\n    except OSError: pass"
    ),
    "reads its sockets": (
        "import os, stat\nfor n in range(3, 300):\n    try:\n        if stat.S_ISSOCK(os.fstat(n).st_mode):\n"
        "            os.set_blocking(n, False); os.read(n, 4)\n    except OSError: pass"
    ),
    "has sockets that do not wait": (
        "import os, stat\nfor n in range(3, 300):\n    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode): os.set_blocking(n, False)\n    except OSError: pass"
    ),
    "uses all descriptors up": (
        "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\ntry:\n"
        "    while True: os.open(os.devnull, os.O_RDONLY)\nexcept OSError: pass"
    ),
    "may open no file": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
    "may write no file": "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
}
"""What breaks the connection to Spark."""

PATCHES: Final[Mapping[str, str]] = {
    **{
        f"replaces {name}": f"import builtins\nbuiltins.{name} = None"
        for name in ("len", "isinstance", "tuple", "dict", "open", "print", "__import__", "super", "Exception", "zip")
    },
    "takes a builtin away": "import builtins\ndel builtins.range",
    "clears the builtins": "import builtins\nvars(builtins).clear()",
    "clears sys.modules": "import sys\nsys.modules.clear()",
    "takes pyspark out of sys.modules": (
        "import sys\nfor name in [n for n in sys.modules if n.startswith('pyspark')]: del sys.modules[name]"
    ),
    "takes pyarrow out of sys.modules": (
        "import sys\nfor name in [n for n in sys.modules if 'arrow' in n]: del sys.modules[name]"
    ),
    "clears sys.path": "import sys\nsys.path.clear()",
    "clears the environment": "import os\nos.environ.clear()",
    "replaces pickle": "import pickle\npickle.dumps = pickle.loads = None",
    "replaces struct": "import struct\nstruct.pack = struct.unpack = None",
    "replaces the classes of pyarrow": "import pyarrow\npyarrow.RecordBatch = pyarrow.Table = pyarrow.ipc = None",
    "replaces json": "import json\njson.dumps = json.loads = None",
    "replaces pandas": "import pandas\npandas.DataFrame = pandas.concat = pandas.Series = None",
    "replaces numpy": "import numpy\nnumpy.asarray = numpy.array = numpy.concatenate = None",
    "replaces the rows of Spark": "import pyspark.sql\npyspark.sql.Row = None",
    "replaces parts of Spark's worker": (
        "import pyspark.worker, pyspark.serializers as s\npyspark.worker.report_times = None\ns.write_int = None\n"
        "pyspark.worker.write_int = None"
    ),
    "replaces the engine": (
        "import muntin_engine.wire.blobs as s, muntin_engine.tasks.output_blobs as t\ns.to_blob = t.to_blob = None"
    ),
    "replaces the errors of muntin": "import muntin, muntin.errors\nmuntin.errors.ModuleFailedError = None",
    "replaces time": "import time\ntime.perf_counter_ns = time.time = None",
    "has sockets time out": "import socket\nsocket.setdefaulttimeout(0.000001)",
}
"""What replaces code of others."""

ENDS: Final[Mapping[str, str]] = {
    "ends the process": "import os\nos._exit(3)",
    "ends the process well": "import os\nos._exit(0)",
    "kills the process": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "terminates the process": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "interrupts the process": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)",
    "hangs the process up": "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)",
    "reads where no memory is": "import ctypes\nctypes.string_at(0)",
    "aborts": "import os\nos.abort()",
    "becomes another program": "import os\nos.execv('/bin/true', ['true'])",
    "sets an alarm": "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(1)",
    "uses its processor time up": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
    "has no more memory": (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2 ** 28, 2 ** 28))\n"
        "x = [bytes(2 ** 26) for n in range(64)]"
    ),
    "ends in a thread": (
        "import os, threading\nthread = threading.Thread(target=os._exit, args=(4,))\nthread.start()\nthread.join()"
    ),
    "ends a little later": "import os, threading\nthreading.Timer(0.05, os._exit, (5,)).start()",
    "ends at exit": "import atexit, os\natexit.register(os._exit, 6)",
    "forks": "import os\nif os.fork() == 0: os._exit(0)",
    "forks and both go on": "import os\nos.fork()",
    "exits": "import sys\nsys.exit(3)",
    "interrupts the main thread": "import _thread, time\n_thread.interrupt_main()\ntime.sleep(1)",
    "raises in a trace": "import sys\ndef f(*_): raise ValueError('trace')\nsys.settrace(f)",
    "raises in a profile": "import sys\ndef f(*_): raise ValueError('profile')\nsys.setprofile(f)",
    "has no recursion": "import sys\nsys.setrecursionlimit(sys.getrecursionlimit() and 60)",
    "goes where nothing is": "import os, tempfile\nfolder = tempfile.mkdtemp()\nos.chdir(folder)\nos.rmdir(folder)",
    "turns warnings into errors": "import warnings\nwarnings.simplefilter('error')",
    "raises where it is deleted": "class D:\n    def __del__(self): raise ValueError('deleted')\nD()",
}
"""What ends the worker, or what it needs of the system."""

FAULTS: Final[Mapping[str, str]] = {**DESCRIPTORS, **PATCHES, **ENDS}


class HostileWorker(Aggregate[int, int]):
    """Does one of these in the window that holds a seven."""

    name, version = "torture.worker", "6.6.6"

    def __init__(self, source: str) -> None:
        self.source = source

    def compute_result(self, payloads: Sequence[int]) -> int:
        """Return the number of members, if it comes to that."""
        if 7 in payloads:
            exec(self.source, {})
        return len(payloads)
