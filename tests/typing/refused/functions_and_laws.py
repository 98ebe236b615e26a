"""What a type checker says to the writer of a function, and of tests."""

from __future__ import annotations

from muntin import ClipPolicy, function, hopping, tumbling
from muntin.testing import AggregateLaws, Computation, Script, WindowedQuery


@function("tides.feet", version=1)  # E: [arg-type] expected "str"
def feet(metres: float) -> float:
    return metres / 0.3048


@function("tides.metres", version="1.0.0")
def metres(feet: float) -> float:
    return str(feet)  # E: [return-value] expected "float"


metres("3")  # E: [arg-type] expected "float"
metres(3.0, digits=2)  # E: [call-arg] Unexpected keyword argument "digits"
whole: int = metres(3.0)  # E: [assignment] has type "float"


class TestTides(AggregateLaws):
    payloads = (1.0, 2.0)  # E: [assignment] "SearchStrategy[Any] | None"
    tolerance = "small"  # E: [assignment] "float"


Script().point("a", "now", 1.0)  # E: [arg-type] expected "int"
WindowedQuery(tumbling(10), [Computation(feet)])  # E: [arg-type] expected Module
WindowedQuery(hopping(10), [], ClipPolicy.FULL)  # E: [call-arg] Missing positional argument "hop"
