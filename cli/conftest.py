"""The template is no code of this repository: a copy of it is tested under the name that it gets."""

collect_ignore = ["src/muntin_cli/template"]
