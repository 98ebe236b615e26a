"""Every kind of broken package that a plugin may come in, for the trial of bad plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.sdk.installation import AGGREGATE, offering

START: Final = "from muntin import Aggregate, function, hookimpl\nfrom muntin.windows import WindowKind\n"
OFFER: Final = "\n@hookimpl\ndef muntin_modules():\n    return "
GOOD: Final = offering("bad.one")
BODY: Final = "    def compute_result(self, payloads): return 0.0\n"


def _class(*lines: str, base: str = "Aggregate[float, float]", body: str = BODY, offer: str = "[A]") -> str:
    inner = "".join(f"    {line}\n" for line in lines)
    return f"{START}class A({base}):\n{inner}{body}{OFFER}{offer}\n"


RAISES: Final[Mapping[str, str]] = {
    "does not parse": "def (:\n",
    "has a byte that is no text": "x = '\udcff'\n",
    "has a null byte": "x = 1\x00\n",
    "raises at import": "raise RuntimeError('no')\n",
    "raises without words": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E\n",
    "raises a million characters": "raise ValueError('x' * 1_000_000)\n",
    "raises text that cannot be printed": "raise ValueError('\\udcff\\x00\\x1b[2J')\n",
    "raises a group": "raise ExceptionGroup('many', [ValueError(n) for n in range(9)])\n",
    "raises what is no Exception": "class E(BaseException): pass\nraise E('base')\n",
    "raises an error of Muntin": "from muntin.errors import MuntinError\nraise MuntinError('mine')\n",
    "raises the error of other plugins": (
        "from muntin.errors import DuplicateNameError\nraise DuplicateNameError('a', 'b', 'c')\n"
    ),
    "runs out of memory": "raise MemoryError\n",
    "calls itself": "def f(): return f()\nf()\n",
    "imports what is not there": "import there_is_no_such_package\n",
    "imports itself with a star": "from plugin_bad import nothing_like_it\n",
    "imports a name that muntin does not have": "from muntin import Agregate\n",
    "prints": "print('{\"this is\": \"not json\"')\nraise ValueError('printed')\n",
    "warns with errors on": "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('old')\n",
    "asks for input": "input('name? ')\n",
}
"""Plugins whose import raises."""

ENDS: Final[Mapping[str, str]] = {
    "exits at import": "raise SystemExit(3)\n",
    "exits well at import": "raise SystemExit(0)\n",
    "interrupts": "raise KeyboardInterrupt\n",
    "ends the process": "import os\nos._exit(3)\n",
    "ends the process well": "import os\nos._exit(0)\n",
    "aborts": "import os\nos.abort()\n",
    "kills its process": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "terminates its process": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "interrupts its process": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass\n",
    "reads where no memory is": "import ctypes\nctypes.string_at(0)\n",
    "never ends": "while True: pass\n",
    "sleeps": "import time\ntime.sleep(10_000)\n",
    "waits for a lock that it holds": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n",
    "never ends, and takes no interrupt": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n"
    ),
    "ignores signals and never ends": (
        "import signal\nfor s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\nwhile True: pass\n"
    ),
    "becomes another program": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'pass'])\n",
    "ends in a thread": (
        "import os, threading\nthread = threading.Thread(target=os._exit, args=(4,))\nthread.start()\nthread.join()\n"
    ),
    "exits in the hook": f"{START}{OFFER}exit()\n",
    "ends the process in the hook": f"{START}{OFFER}__import__('os')._exit(1)\n",
    "never ends in the hook": f"{START}{OFFER}list(iter(int, 1))\n",
}
"""Plugins that end their process, or have it never end."""

BREAKS: Final[Mapping[str, str]] = {
    "clears sys.modules": f"import sys\nsys.modules.clear()\n{GOOD}",
    "takes a module out of sys.modules": f"import sys\nimport json\ndel sys.modules['json']\n{GOOD}",
    "puts itself in the place of muntin": f"import sys\n{GOOD}sys.modules['muntin'] = sys.modules[__name__]\n",
    "replaces open": f"import builtins\n{GOOD}builtins.open = None\n",
    "takes a builtin away": f"import builtins\n{GOOD}del builtins.isinstance\n",
    "replaces the import": (
        f"import builtins\n{GOOD}def no(*_, **__): raise ImportError('no more')\nbuiltins.__import__ = no\n"
    ),
    "replaces how JSON is written": "import json\njson.dumps = lambda *_, **__: 1 / 0\n" + GOOD,
}
"""Plugins that offer a module, and break Python for all that is imported after them."""

MISOFFERS: Final[Mapping[str, str]] = {
    "is empty": "",
    "has no hooks": f"{START}class A(Aggregate[float, float]):\n    name, version = 'bad.a', '1'\n{BODY}",
    "has a hook that is not marked": f"{START}def muntin_modules():\n    return []\n",
    "offers a number": f"{START}{OFFER}3\n",
    "offers strings": f"{START}{OFFER}['a', 'b']\n",
    "offers text": f"{START}{OFFER}'abc'\n",
    "offers nothing at all": f"{START}{OFFER}None\n",
    "offers a base class": f"{START}{OFFER}[Aggregate]\n",
    "offers a function for a module": f"{START}{OFFER}[len]\n",
    "offers an instance": _class("name, version = 'bad.a', '1'", offer="[A()]"),
    "offers a generator that raises": f"{START}{OFFER}(1 / 0 for _ in range(3))\n",
    "offers one module twice": _class("name, version = 'bad.a', '1'", offer="[A, A]"),
    "implements a hook that is none": f"{START}@hookimpl\ndef muntin_windmills():\n    return []\n",
    "implements a hook that takes too much": f"{START}@hookimpl\ndef muntin_modules(more):\n    return []\n",
    "raises in the hook": f"{START}{OFFER}1 / 0\n",
    "has a hook that waits": f"{START}@hookimpl\nasync def muntin_modules():\n    return []\n",
    "offers a class without a name": _class("version = '1'"),
    "offers a class without a version": _class("name = 'bad.a'"),
    "offers a class whose name is a number": _class("name, version = 3, '1'"),
    "offers a class whose version is a number": _class("name, version = 'bad.a', 1.0"),
    "offers a class whose name has no plugin": _class("name, version = 'a', '1'"),
    "offers a class whose name raises": _class("version = '1'", "name = property(lambda self: 1 / 0)"),
    "offers a class that computes nothing": _class("name, version = 'bad.a', '1'", body=""),
    "offers a class whose types are not there": _class("name, version = 'bad.a', '1'", base="Aggregate['There', 'No']"),
    "offers aliases that are text": _class("name, version, aliases = 'bad.a', '1', 'b'"),
    "offers another's name": f"{START}{AGGREGATE.format(cls='A', name='stats.average')}{OFFER}[A]\n",
    "offers a function of another's name": (
        f"{START}@function('stats.clamp', version='1')\ndef f(x: float) -> float: return x\n"
        "@hookimpl\ndef muntin_functions(): return [f]\n"
    ),
    "offers a trigger that is none": f"{START}@hookimpl\ndef muntin_triggers(): return [int]\n",
    "offers windows that are none": f"{START}@hookimpl\ndef muntin_windows(): return [WindowKind]\n",
}
"""Plugins that offer what they must not."""

SOURCES: Final[Mapping[str, str]] = {**RAISES, **ENDS, **BREAKS, **MISOFFERS}
"""Sources of plugins that cannot be used; their entry point is named `bad`."""

ENTRY_POINTS: Final[Mapping[str, bytes]] = {
    "entry points without a value": b"[muntin]\nbad\n",
    "entry points that are no text": b"[muntin]\nbad = \xff\xfe\n",
    "entry points without a section": b"bad = bad\n",
    "entry points with a value that is no name": b"[muntin]\nbad = 3 % 4\n",
    "entry points that are empty": b"",
    "entry points that name what is not there": b"[muntin]\nbad = there_is_no_such_module\n",
    "entry points that name an attribute that is not there": b"[muntin]\nbad = json:there_is_none\n",
    "entry points that name a number": b"[muntin]\nbad = sys:maxsize\n",
    "entry points that name a package without a plugin": b"[muntin]\nbad = json\n",
    "entry points that name two things": b"[muntin]\nbad = json\nbad = math\n",
    "entry points with a null byte": b"[muntin]\nbad = \x00\n",
    "entry points that take the name of an installed plugin": b"[muntin]\nstats = plugin_bad\n",
}
"""Files that importlib.metadata, or who reads them, trips over."""

HARMLESS: Final = ("entry points that are empty", "entry points without a section")
"""They offer nothing, so there is nothing to name."""
