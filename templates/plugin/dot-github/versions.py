"""Print the versions that `pyproject.toml` names, as the outputs of a step in a workflow."""

import json
import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]

python = "Programming Language :: Python :: 3."
pythons = [classifier.rpartition(" ")[2] for classifier in project["classifiers"] if classifier.startswith(python)]

(sdk,) = [requirement for requirement in project["dependencies"] if re.match(r"muntin-sdk\b", requirement)]
allowed = sdk.removeprefix("muntin-sdk")
oldest = allowed.partition(",")[0].replace(">=", "==")

print(f"pythons={json.dumps(pythons)}")
print(f"muntins={json.dumps([oldest, allowed])}")
