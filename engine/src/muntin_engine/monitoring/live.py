"""The queries of a session as they run, with an hour of their micro-batches, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, Final

from muntin_engine.monitoring.alerts import Alert
from muntin_engine.monitoring.history import Histories, History
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.running import RunningQuery, Session, running
from muntin_engine.monitoring.spelling import spell_bytes, spell_seconds, spell_tick, spell_ticks

POINTS: Final = 120
"""So many points a chart has at most."""

_CHARTS: Final = ("accepted", "late", "rejected", "seconds", "lag", "state_bytes")


class LiveQueries:
    """Keeps the micro-batches of the last hour of a session's queries, as a listener brings them."""

    def __init__(self, session: Session, alerts: Iterable[Alert] = ()) -> None:
        """Begin with what the session still knows."""
        self._session, self._alerts, self._lock = session, tuple(alerts), Lock()
        self._histories: dict[tuple[str, str], History] = {}
        for query in session.streams.active:
            known = Histories()
            known.take(query.recentProgress)
            self._histories |= {(str(query.runId), name): history for name, history in known.by_query.items()}

    def take(self, metrics: BatchMetrics) -> None:
        """Take a micro-batch; one that is known already changes nothing."""
        with self._lock:
            key = metrics.run_id or "", metrics.query
            history = self._histories.setdefault(key, History(metrics.query))
            if not history.batches or history.last.batch < metrics.batch:
                history.add(metrics)

    def told(self) -> list[dict[str, Any]]:
        """Return the queries that run, as plain data; those that have ended are forgotten."""
        active = {str(query.runId): query for query in self._session.streams.active}
        with self._lock:
            self._histories = {key: history for key, history in self._histories.items() if key[0] in active}
            known = [(active[run], history) for (run, _), history in self._histories.items()]
            seen = {run for run, _ in self._histories}
            found = [_told(running(query, history, self._alerts), history) for query, history in known]
        new = [running(query) for run, query in active.items() if run not in seen and not query.recentProgress]
        return found + [_told(entry) for entry in new]


def _told(entry: RunningQuery, history: History | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": entry.name,
        "spark_name": entry.spark_name,
        "query_id": entry.query_id,
        "run_id": entry.run_id,
        "held_back_by": entry.held_back_by,
        "alerts": entry.alerts,
    }
    last = entry.last
    if last is None or history is None:
        return told
    is_time = last.is_time
    return told | {
        "batch": last.batch,
        "started": last.started,
        "seconds": last.seconds,
        "duration": spell_seconds(last.seconds),
        "rows_per_second": entry.rows_per_second,
        "watermark": spell_tick(history.latest("watermark"), is_time=is_time),
        "lag": spell_ticks(history.latest("lag"), is_time=is_time),
        "state": spell_bytes(entry.state_bytes),
        "state_bytes": entry.state_bytes,
        "keys_held": entry.keys_held,
        "totals": {name: history.totals[name] for name in ("accepted", "late", "rejected", "filtered", "results")},
        "modules": dict(history.modules.most_common()),
        "sources": {
            name: {"rows": source.rows, "late": source.late, "watermark": spell_tick(source.watermark, is_time=is_time)}
            for name, source in last.sources.items()
        },
        "history": _history(list(history.batches)),
    }


def _history(batches: Sequence[BatchMetrics]) -> dict[str, list[Any]]:
    """Return what charts show: the time of some micro-batches, and what they reported."""
    step = -(-len(batches) // POINTS)
    some = batches[::-1][:: max(step, 1)][::-1]
    told: dict[str, list[Any]] = {"started": [one.started for one in some]}
    return told | {name: [getattr(one, name) for one in some] for name in _CHARTS}
