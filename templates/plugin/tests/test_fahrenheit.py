"""The laws of the function, and an example."""

from muntin.testing import FunctionLaws

from muntin_myplugin.fahrenheit import fahrenheit


class TestFahrenheit(FunctionLaws):
    function = fahrenheit


def test_water_freezes() -> None:
    assert fahrenheit(0.0) == 32.0
