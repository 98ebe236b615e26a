"""Paths on a file system that is not this machine's."""

from __future__ import annotations

import pytest
from pyarrow import fs

from muntin.errors import QueryError
from muntin_engine.sinks.stored_path import file_system_of


@pytest.mark.parametrize(
    ("address", "address_for_arrow"),
    [("s3a://bucket/s3a:old", "s3://bucket/s3a:old"), ("s3://bucket/s3a:old", "s3://bucket/s3a:old")],
)
def test_only_the_scheme_of_an_address_is_spelled_for_arrow(
    monkeypatch: pytest.MonkeyPatch, address: str, address_for_arrow: str
) -> None:
    class FileSystem:
        @staticmethod
        def from_uri(address: str) -> tuple[None, str]:
            return None, address

    monkeypatch.setattr(fs, "FileSystem", FileSystem)
    assert file_system_of(address) == (None, address_for_arrow)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_an_error_about_an_address_has_no_keys(scheme: str) -> None:
    with pytest.raises(QueryError, match="is not a place that can be written to: Cannot parse URI") as error:
        file_system_of(f"{scheme}://ann:x5f1@buc ket/results")
    assert "x5f1" not in str(error.value)
