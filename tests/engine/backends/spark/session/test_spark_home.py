"""The home that Spark gets for a local session."""

from __future__ import annotations

import os
from pathlib import Path

from muntin_engine.backends.spark.session.spark_home import link_home, spark_home


def package(folder: Path) -> Path:
    """Make a package as pip installs PySpark: Spark beside archives of Python sources."""
    for part in ("bin", "jars", "sbin", "python/lib", "sql"):
        (folder / "pyspark" / part).mkdir(parents=True)
    (folder / "pyspark/python/lib/pyspark.zip").touch()
    (folder / "pyspark/jars/spark.jar").touch()
    return folder / "pyspark"


def test_a_home_has_sparks_parts_and_no_archive_of_python_sources(tmp_path: Path) -> None:
    spark = package(tmp_path)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = spark_home(spark, environment)
    assert home is not None
    assert home.is_relative_to(tmp_path / "cache")
    assert sorted(os.listdir(home)) == ["bin", "conf", "jars", "sbin"]
    assert (home / "jars/spark.jar").is_file()
    assert not (home / "python").exists()
    assert spark_home(spark, environment) == home, "it is made once"


def test_settings_that_are_added_to_spark_later_are_in_its_home(tmp_path: Path) -> None:
    spark = package(tmp_path)
    home = spark_home(spark, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert home is not None
    (spark / "conf").mkdir()
    assert (home / "conf").is_dir()


def test_two_packages_have_homes_of_their_own(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    homes = {spark_home(package(tmp_path / name), environment) for name in ("one", "other")}
    assert len(homes - {None}) == 2


def test_a_home_of_ones_own_and_a_package_without_spark_are_left_alone(tmp_path: Path) -> None:
    spark = package(tmp_path)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert spark_home(spark, environment | {"SPARK_HOME": "/opt/spark"}) is None
    assert spark_home(tmp_path, environment) is None
    assert not (tmp_path / "cache").exists()


def test_a_place_that_cannot_be_written_has_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not link_home(package(tmp_path), tmp_path / "file" / "home")
