"""What is built and published agrees with pyproject.toml, and nothing is run that is not pinned."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_recipe_asks_for_what_the_package_needs():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    needs = re.findall(r"- (\S+ >=\S+)", recipe.split("  run:\n")[1].split("\ntest:")[0])
    listed = [one.replace(">=", " >=") for one in PROJECT["dependencies"]]
    assert needs == [f"python {PROJECT['requires-python']}", *listed]
    assert PROJECT["version"] in recipe
    assert f"kernelweave = {PROJECT['scripts']['kernelweave']}" in recipe


def test_the_oldest_versions_are_those_of_the_project():
    oldest = runpy.run_path(str(ROOT / "packaging" / "oldest.py"))["oldest"]
    found = oldest(PROJECT["dependencies"])
    assert len(found) == len(PROJECT["dependencies"]), "a dependency has no lower limit"
    assert oldest(["numpy>=2.0", "somewhere>=1.2.3,<2", "free"]) == ["numpy==2.0.*", "somewhere==1.2.3"]


@pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_and_may_only_read(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{action} is not pinned"
    assert "permissions:\n  contents: read\n" in text
    assert "timeout-minutes" in text


def test_every_python_that_is_named_is_tested():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tested = next((path.read_text(encoding="utf-8") for path in WORKFLOWS if path.stem == "tests"), None)
    if tested is None:
        pytest.skip("an sdist has no workflows")
    assert re.search(r"python: (\[.*\])", tested)[1] == str(named).replace("'", '"')
