"""What a session says of its workers."""

from __future__ import annotations

from typing import Any

import pytest

from muntin_engine.errors import SetupError
from muntin_engine.spark.session.worker_settings import settings_of


class Session:
    """A session with some settings."""

    def __init__(self, **settings: str) -> None:
        self._settings = {f"spark.muntin.{name.replace('_', '.')}": value for name, value in settings.items()}

    @property
    def conf(self) -> Session:
        return self

    def get(self, name: str, default: str) -> str:
        return self._settings.get(name, default)


def test_a_session_sets_how_many_wake_ups_a_key_may_have_in_a_micro_batch() -> None:
    session: Any = Session(wakeups_limit="25", patterns_limit="7")
    assert (settings_of(session).most_wake_ups, settings_of(session).most_patterns) == (25, 7)
    plain: Any = Session()
    assert settings_of(plain).most_wake_ups == 1_000_000
    wrong: Any = Session(wakeups_limit="many")
    with pytest.raises(SetupError, match=r"spark.muntin.wakeups.limit is 'many'"):
        settings_of(wrong)
