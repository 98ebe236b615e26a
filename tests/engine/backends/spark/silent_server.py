"""A session of Spark Connect without a server: it answers for settings, and counts all other questions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest

PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class SilentSession:
    """The session, and the questions about plans that it was asked.

    Attributes:
        spark: The session.
        questions: What was asked: `analyze` or `execute`.
        settings: The settings that it has.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyspark.sql.connect.client.core import SparkConnectClient
        from pyspark.sql.connect.session import SparkSession

        self.questions: list[str] = []
        self.settings = {PROVIDER: ROCKSDB, "spark.muntin.preflight": "false"}
        monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        monkeypatch.setattr(SparkConnectClient, "_analyze", self._refuse("analyze"))
        monkeypatch.setattr(SparkConnectClient, "_execute", self._refuse("execute"))
        monkeypatch.setattr(SparkConnectClient, "_execute_and_fetch_as_iterator", self._refuse("execute"))
        monkeypatch.setattr(SparkConnectClient, "get_configs", lambda _, *names: tuple(map(self.settings.get, names)))
        monkeypatch.setattr(SparkConnectClient, "config", lambda _, operation: self._answer(operation))
        self.spark: Any = SparkSession("sc://localhost:1")  # nobody listens there, and nothing is sent

    def _refuse(self, question: str) -> Any:
        """Return a method that notes a question and fails."""

        def refuse(*_: object, **__: object) -> None:
            self.questions.append(question)
            raise AssertionError(f"Spark was asked to {question}")

        return refuse

    def _answer(self, operation: Any) -> SimpleNamespace:
        """Answer a request for settings, with defaults or without, as the server does."""
        pairs: list[tuple[str, str | None]] = []
        if operation.HasField("get_with_default"):
            for pair in operation.get_with_default.pairs:
                default = pair.value if pair.HasField("value") else None
                pairs.append((pair.key, self.settings.get(pair.key, default)))
        else:
            pairs += [(name, self.settings.get(name)) for name in operation.get_option.keys]
        return SimpleNamespace(pairs=pairs, warnings=[])


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> SilentSession:
    """A session that must not be asked."""
    pytest.importorskip("grpc")
    return SilentSession(monkeypatch)
