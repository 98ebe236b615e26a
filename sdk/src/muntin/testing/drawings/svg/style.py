"""The style of pictures: colours for a light and a dark scheme, letters and lines."""

from __future__ import annotations

from typing import Final

LETTERS: Final = 13
"""The height of letters, of which `WIDTH` has so many that they are readable on a phone."""

WIDTH: Final = 400
"""The width of a picture in its own units."""

STYLE: Final = f"""\
.muntin-drawing{{--paper:#fff;--edge:#d5dbe1;--ink:#1f2328;--soft:#57606a;--event:#1f6feb;--result:#1a7f4b;--mark:#b3400d;\
--pane:#e9f0fb;--other:#fbf1df;--rim:#a9bcd8;--rim2:#dcc18c;--fill:#dff3e6;--pale:#94baf5;--pale2:#8cc5a5}}
@media(prefers-color-scheme:dark){{.muntin-drawing{{--paper:#171b21;--edge:#343b44;--ink:#e6edf3;--soft:#a3adb8;\
--event:#6cb0ff;--result:#5cc98a;--mark:#f5996b;--pane:#202f45;--other:#383020;--rim:#4a6389;--rim2:#7d6a41;--fill:#17382a;--pale:#44699a;--pale2:#3c7a58}}}}
.muntin-drawing text{{font:{LETTERS}px system-ui,sans-serif;fill:var(--ink);dominant-baseline:central}}
.muntin-drawing .mid{{text-anchor:middle}}
.muntin-drawing .end{{text-anchor:end}}
.muntin-drawing .soft{{fill:var(--soft)}}
.muntin-drawing .bold{{font-weight:600}}
.muntin-drawing .halo{{stroke:var(--paper);stroke-width:4;paint-order:stroke}}
.muntin-drawing .card{{fill:var(--paper);stroke:var(--edge)}}
.muntin-drawing .axis{{stroke:var(--soft)}}
.muntin-drawing .tip{{fill:var(--soft)}}
.muntin-drawing .rule{{stroke:var(--edge)}}
.muntin-drawing .guide{{stroke:var(--rim);stroke-dasharray:1.5 3}}
.muntin-drawing .pane,.muntin-drawing .veil{{fill:var(--pane)}}
.muntin-drawing .other,.muntin-drawing .other-veil{{fill:var(--other)}}
.muntin-drawing .pane{{stroke:var(--rim)}}
.muntin-drawing .other{{stroke:var(--rim2)}}
.muntin-drawing .veil,.muntin-drawing .other-veil{{opacity:.6}}
.muntin-drawing .life{{stroke:var(--event);stroke-width:5}}
.muntin-drawing .start{{fill:var(--event)}}
.muntin-drawing .stop{{fill:var(--paper);stroke:var(--event);stroke-width:2.5}}
.muntin-drawing .past{{stroke:var(--pale);stroke-width:2.5}}
.muntin-drawing line.past{{stroke-dasharray:3 4}}
.muntin-drawing circle.past{{stroke-width:1.5}}
.muntin-drawing .past.start,.muntin-drawing .gone.start{{fill:var(--pale)}}
.muntin-drawing .gone.life,.muntin-drawing .gone.stop{{stroke:var(--pale)}}
.muntin-drawing .past.stop{{stroke:var(--pale)}}
.muntin-drawing .past.given{{stroke:var(--pale2)}}
.muntin-drawing .box{{fill:var(--fill);stroke:var(--result)}}
.muntin-drawing .base{{fill:var(--result)}}
.muntin-drawing .mark{{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:5 4}}
.muntin-drawing .way{{stroke:var(--mark);stroke-width:1.5}}
.muntin-drawing .head{{fill:var(--mark)}}
.muntin-drawing .said{{fill:var(--mark)}}
.muntin-drawing rect.gone{{opacity:.55}}
.muntin-drawing text.gone{{fill:var(--soft)}}
.muntin-drawing .strike{{stroke:var(--mark);stroke-width:2}}
"""
