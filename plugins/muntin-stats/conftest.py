"""The examples of the approximate modules run where `datasketches` is installed: not yet on Python 3.14."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("datasketches") else ["src/muntin_stats/approximate_*.py"]
