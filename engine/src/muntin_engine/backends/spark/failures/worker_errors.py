"""Errors of modules as a worker tells Spark of them: the text with key and window first, then the module's own frames.

Spark would write the traceback of the module, then a longer one of the frames of Spark and Muntin that called it, and
the text last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Final

import pyspark
from pyspark import TaskContext

import muntin
from muntin.errors import ModuleError

_HEADER: Final = "Traceback (most recent call last):"
_MODULE_HEADER: Final = "Traceback of the module (most recent call last):"
"""PySpark looks for its own header, and would add these frames to those of the driver: they would come twice."""

_ABOVE: Final = "the module's own traceback is above; "
_BELOW: Final = "the module's own traceback is below; "
_ENGINE: Final = Path(__file__).parents[3]
_CALLERS: Final = tuple(
    f"{folder}{os.sep}" for folder in (_ENGINE, Path(str(muntin.__file__)).parent, Path(pyspark.__file__).parent)
)
"""The folders of the code that calls modules."""


@contextmanager
def module_error_first() -> Iterator[None]:
    """Change the error of a module in the block, so that Spark shows the frames of the module and no other frames.

    The frames of the module become a part of the text of the error.
    """
    try:
        yield
    except ModuleError as error:
        frames = "" if error.__cause__ is None else _frames_of_module(error.__cause__)
        # The text says that the traceback is above. Here the frames come below, or there are none.
        text = str(error).replace(_ABOVE, _BELOW if frames else "")
        error.args = (f"{text}\n\n{frames}" if frames else text,)
        error.__cause__ = None
        if TaskContext.get() is not None:
            # Spark reads this variable when it writes the error. Then it ends this worker: no other error is hidden.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def _frames_of_module(error: BaseException) -> str:
    """Return the traceback of an error and of its causes, without the frames of Spark and Muntin.

    Empty if no other frame is left.
    """
    # The frames are removed from a copy for printing, as the frames of an exception itself cannot be changed.
    traceback = TracebackException.from_exception(error)
    has_frames = False
    link: TracebackException | None = traceback
    while link is not None:
        frames = [frame for frame in link.stack if not frame.filename.startswith(_CALLERS)]
        has_frames = has_frames or bool(frames)
        link.stack = StackSummary.from_list(frames)
        link = link.__cause__ or link.__context__
    if not has_frames:
        return ""
    return "".join(traceback.format()).replace(_HEADER, _MODULE_HEADER).rstrip()
