"""The same question for engines that live in environments of their own.

Each module here is run by its engine's interpreter as `python -m benchmarks.systems.programs.with_<name>`, and may
import only the standard library, NumPy, pyarrow, its engine, `benchmarks.questions` and
`benchmarks.systems.programs.task`.
"""
