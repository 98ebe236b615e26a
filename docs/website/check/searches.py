"""What readers type into the search of the site, and the page that answers it."""

from __future__ import annotations

from typing import Final

SEARCHES: Final = {
    "extras": "install.html",
    "install": "install.html",
    "java": "install.html",
    "kafka": "how-to/read-from-kafka.html",
    "release": "contributing/release.html",
    "session window": "how-to/sessions-and-visits.html",
    "stddev": "reference/stats.html",
    "timezone": "how-to/time-zones-and-other-axes.html",
    "watermark": "how-to/say-how-complete-the-input-is.html",
}
