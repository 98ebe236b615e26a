"""Files that a public project has: they can be read, and name what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.distributions import ROOT, distributions

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def read(file: Path) -> Any:
    """Return the content of a YAML file."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def test_there_are_workflows_and_forms() -> None:
    assert len(WORKFLOWS) >= 3
    assert len(FORMS) >= 3


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_targets_of_the_makefile(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    called: list[str] = []
    for job in read(workflow)["jobs"].values():
        for step in job["steps"]:
            command = step.get("run", "")
            if command.startswith("make "):
                called.append(command.split()[1])
    assert called
    assert [target for target in called if target not in targets] == []


def test_the_workflows_run_sessions_of_nox() -> None:
    sessions = set(re.findall(r'^@nox.session\(name="([^"]+)"', (ROOT / "noxfile.py").read_text("utf-8"), re.MULTILINE))
    called: set[str] = set()
    for job in read(ROOT / ".github/workflows/test.yml")["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        called |= set(matrix.get("session", ()))
        called |= {combination["session"] for combination in matrix.get("include", ())}
    assert called
    assert called <= sessions


@pytest.mark.parametrize("form", FORMS, ids=lambda file: file.stem)
def test_a_form_has_fields_with_labels(form: Path) -> None:
    content = read(form)
    if form.stem == "config":
        assert content == {"blank_issues_enabled": True}
        return
    assert content["name"]
    assert [field for field in content["body"] if not field["attributes"]["label"]] == []


def test_the_citation_has_the_version_of_the_packages() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert {citation["version"]} == {distribution.project["version"] for distribution in distributions().values()}


def test_hooks_before_a_commit_run_installed_tools() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"].split()[0] for hook in repository["hooks"]] == [".venv/bin/ruff", ".venv/bin/ruff"]
