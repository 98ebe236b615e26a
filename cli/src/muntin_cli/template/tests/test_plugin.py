"""What the plugin offers to queries."""

from muntin_myplugin import plugin


def test_names_start_with_the_name_of_the_entry_point() -> None:
    names = [module.name for module in plugin.muntin_modules()]
    names += [function.name for function in plugin.muntin_functions()]

    assert names
    assert [name for name in names if not name.startswith("myplugin.")] == []
