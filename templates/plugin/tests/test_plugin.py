"""What the plugin offers to queries."""

from muntin_myplugin import plugin

NAMES = ("muntin_modules", "muntin_functions", "muntin_triggers", "muntin_windows")


def test_names_start_with_the_name_of_the_entry_point() -> None:
    hooks = [getattr(plugin, name) for name in NAMES if hasattr(plugin, name)]
    names = [offered.name for hook in hooks for offered in hook()]

    assert names
    assert [name for name in names if not name.startswith("myplugin.")] == []
