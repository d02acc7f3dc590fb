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
    found = re.findall(r'"(3\.\d+)"', re.search(r"python: (\[.*\])", tested)[1])
    assert found[: len(named)] == named
    assert found[len(named) :] in ([], ["3.14"]), "beyond those that are named, only the one that is tried"


def test_what_the_paper_cites_is_in_its_list():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    listed = re.findall(r"^@\w+\{([\w-]+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    cited = set(re.findall(r"(?<=[\[; ])@([\w-]+)", paper))
    assert cited == set(listed)
    for heading in ("# Summary", "# Statement of need", "# State of the field", "# Design", "# References"):
        assert f"\n{heading}\n" in paper
    for command in re.findall(r"`(benchmarks/\w+\.py)", paper):
        assert (ROOT / command).exists()


def test_locked_versions_are_allowed_ones():
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (ROOT / "packaging" / "locked.txt").read_text(encoding="utf-8").splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    for one in map(Requirement, PROJECT["dependencies"]):
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), one


def test_the_history_has_a_line_for_every_recorded_version():
    history = runpy.run_path(str(ROOT / "benchmarks" / "history.py"), run_name="history")
    rows = history["recorded"]()
    assert rows
    assert len({row["version"] for row in rows}) == len(rows)
    for row in rows:
        assert all(float(row[name]) > 0 for name in history["CASES"])
    slower = [
        {"version": "1", **dict.fromkeys(history["CASES"], "1")},
        {"version": "2", **dict.fromkeys(history["CASES"], "1.3")},
    ]
    assert history["table"](slower).count("**slower**") == len(history["CASES"])
