"""What readers type into the search of the site, and the page that answers it."""

from __future__ import annotations

from typing import Final

SEARCHES: Final = {
    "backfill": "deploy/change-a-query.html",
    "delta lake": "how-to/write-results.html",
    "executor memory": "deploy/size-a-query.html",
    "extras": "install.html",
    "install": "install.html",
    "java": "install.html",
    "kafka": "how-to/read-from-kafka.html",
    "kubernetes": "deploy/run-on-a-cluster.html",
    "monitoring": "how-to/watch-a-query.html",
    "query died": "how-to/troubleshoot.html",
    "release": "contributing/release.html",
    "restart": "how-to/restart-and-checkpoints.html",
    "roll back": "deploy/upgrade-and-roll-back.html",
    "security": "deploy/before-you-deploy.html",
    "session window": "how-to/sessions-and-visits.html",
    "stddev": "reference/stats.html",
    "timezone": "how-to/time-zones-and-other-axes.html",
    "twenty cores": "deploy/latency-and-scaling.html",
    "upgrade": "deploy/upgrade-and-roll-back.html",
    "watermark": "how-to/say-how-complete-the-input-is.html",
}
