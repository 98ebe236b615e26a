"""The entries of SELECT: columns, and the stars of tables."""

from __future__ import annotations

import pytest

from muntin.errors import QueryError
from tests.engine.backends.local.plain_sql.beside_spark import translated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT km + 1 FROM rides", "'km \\+ 1' has no name\n  name it"),
        ("SELECT km, km FROM rides", "has several columns km"),
        (
            "SELECT km, rides.* FROM rides r",
            "'rides\\.\\*' has the columns of a table .* not there\n  the query reads r",
        ),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
