"""Serve what runs in a session, for `muntin watch` and for browsers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from muntin_engine.monitoring.alerts import Alert
from muntin_engine.monitoring.live import LiveQueries
from muntin_engine.monitoring.server import WatchServer
from muntin_engine.spark.metrics_listener import MetricsListener


def serve(
    spark: SparkSession,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    alerts: Iterable[Alert] = (),
) -> WatchServer:
    """Serve the running queries of a session on a page, and as JSON for `muntin watch`; nothing can be changed there.

    Args:
        spark: The session.
        port: The port; 0 for any that is free.
        host: The address to listen at; by default only this machine reaches it.
        token: The token that requests have to bring, in the address or as a bearer token; required where other machines
            reach the page.
        alerts: Conditions, of which each query shows those that it exceeds.

    Returns:
        The server: `url` is its address, and `stop()` ends it, as leaving a `with` block does.

    Raises:
        QueryError: Others would reach it without a token.
        OSError: The port is taken.
    """
    session: Any = spark
    live = LiveQueries(session, alerts)
    listener = MetricsListener(live.take)
    server = WatchServer(live.told, lambda: spark.streams.removeListener(listener), host, port, token)
    spark.streams.addListener(listener)
    return server
