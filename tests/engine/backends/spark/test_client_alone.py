"""A client of Spark Connect that has no Spark of its own: no py4j, no JVM, no context.

`make test-versions VERSIONS=client` asks the same of `pyspark-client` itself, in an environment of its own.
"""

from __future__ import annotations

import sys

import pytest

from tests.engine.backends.spark.client_alone import EXPECTED, answers_of_client, wrong_answers
from tests.quick_spark import jvm as quick_jvm

pytestmark = pytest.mark.nightly


def test_a_client_that_feigns_to_have_no_spark_queries_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", quick_jvm.OPTIONS)
    answers = answers_of_client(sys.executable, sys.executable, feigns=True)
    assert wrong_answers(answers) == {}


def test_an_answer_is_wrong_if_it_is_missing_other_or_new() -> None:
    answers = dict(EXPECTED)
    assert wrong_answers(answers) == {}
    answers |= {"late": [], "a local session": "Error", "more": 1}
    del answers["static"]
    assert set(wrong_answers(answers)) == {"late", "a local session", "more", "static"}
