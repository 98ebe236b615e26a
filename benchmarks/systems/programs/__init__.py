"""The same question for other engines and libraries, each in a process of its own.

Each module here is run by its engine's interpreter as `python -m benchmarks.systems.programs.with_<name>`, and may
import only the standard library, NumPy, pyarrow, its engine, `benchmarks.questions` and the task: `task` for engines of
streams in environments of their own, `table_task` for libraries of tables in this one.
"""
