"""Test a streaming job in pytest: feed it micro-batches, move its watermark, compare its rows.

A test suite takes the fixtures by a line in its `conftest.py`:

```python
pytest_plugins = ["muntin_engine.testing.streaming"]
```
"""

from muntin_engine.testing.streaming.fixtures import StartsJob, muntin_spark, streaming
from muntin_engine.testing.streaming.job import StreamingJob
from muntin_engine.testing.streaming.plain_rows import Row, assert_rows

__all__ = ["Row", "StartsJob", "StreamingJob", "assert_rows", "muntin_spark", "streaming"]
