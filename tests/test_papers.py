"""The pages on the papers are what their files of results say, every row is filled, and rows run without any data."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "benchmarks"))

from papers import data, frame, pages, registry, second_order, two_stage_rows  # noqa: E402

#: Tables and figures of the papers, as they are counted; rows beyond them are welcome.
COUNTED = 25
AUTHORS = re.compile(r"Sonnenburg|Chapelle|Shiju|the papers?\b|paper's")
LINK = re.compile(r"\]\(([\w./]*papers/\w+\.md)(?:#([\w-]+))?\)")
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "papers" not in path.parts and "_build" not in path.parts]


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(frame.HOME, "folder", frame.PUBLISHED)


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """An empty folder for results, and no data folder."""
    monkeypatch.setattr(frame.HOME, "folder", tmp_path)
    monkeypatch.setattr(data.large_scale, "DATA", tmp_path / "nowhere")
    data.USED.clear()
    return tmp_path


def test_the_pages_are_what_the_results_say(published):
    for name, text in pages.texts().items():
        assert (frame.PUBLISHED / name).read_text(encoding="utf-8") == text, "run: make papers ARGS='--pages --publish'"


def test_every_row_is_filled(published):
    assert len(registry.ROWS) >= COUNTED
    assert {path.stem for path in frame.HOME.results.iterdir()} == set(registry.by_id())
    for row in registry.ROWS:
        result = frame.load(row.id)
        assert result["row"] == row.id
        assert pages.headline(row, result)[2] != "–", row.id
        assert set(row.text) == {"title", "shows", "unit", "data", "differs"}, row.id
        assert result["versions"]["kernelweave"], row.id
        assert result["mode"] in {"quick", "full"}, row.id
        assert row.draw is None or (frame.HOME.figures / f"{row.id}.png").exists(), row.id


def test_every_paper_has_its_tables_and_figures():
    names = {paper: {row.name for row in registry.ROWS if row.paper == paper} for paper in registry.PAPERS}
    assert names["string_kernels"] == {f"Table 4.{i}" for i in range(1, 8)} | {f"Figure 4.{i}" for i in range(1, 12)}
    assert names["large_scale_mkl"] >= {f"Figure {i}" for i in range(2, 7)}
    assert names["second_order"] == {f"Figure {i}" for i in range(1, 4)}
    assert names["two_stage"] == {"Table 1", "Figure 1"}


@pytest.mark.parametrize("name", ["figure-4.1", "figure-4.2", "figure-4.3", "figure-4.4"])
def test_worked_examples_come_out_as_the_paper_says(alone, name):
    row = registry.by_id()[name]
    result = frame.measure(row, quick=True, say=lambda line: None)
    assert list(result["cells"]) == list(row.theirs)
    for line, cells in row.theirs.items():
        for column, value in cells.items():
            assert result["cells"][line][column] == pytest.approx(value, rel=1e-4)
    pages.write()
    assert (alone / "string_kernels.md").exists()
    assert row.draw is None or (alone / "figures" / f"{name}.png").exists()


def test_a_row_on_generated_data_says_so(alone):
    row = replace(registry.by_id()["algorithm-2"], quick={"N": (140,), "support": (10, 20)})
    result = frame.measure(row, quick=True, say=lambda line: None)
    assert result["data"] == ["stand-in: make_splice_sites"]
    assert pages.stand_in(result)
    assert result["cells"]["140 windows"]["steps"] >= 1
    assert "stand-in: make_splice_sites" in pages.texts()["large_scale_mkl.md"]


@pytest.mark.parametrize("table", [second_order.table, two_stage_rows.table])
def test_what_stands_in_has_the_shape_of_the_real_thing(alone, table):
    module = second_order if table is second_order.table else two_stage_rows
    for name, shape in module.SHAPES.items():
        X, y = table(name)
        assert X.shape == shape[:2]
        assert len(np.unique(y)) >= 2
    assert all(one.startswith("stand-in") for one in data.USED)


def slow(sizes):
    def forever():
        while True:
            pass

    yield frame.Task("one", ("seconds",), lambda: {"seconds": 1.0, "_kept": [1.0, 2.0]})
    yield frame.Task("two", ("seconds",), forever)
    yield frame.Task("three", ("seconds",), lambda: {"seconds": 3.0})


@pytest.mark.skipif(not hasattr(__import__("signal"), "SIGALRM"), reason="no alarms on this system")
def test_a_row_that_runs_out_of_time_keeps_what_it_has(alone):
    row = replace(registry.by_id()["figure-4.1"], tasks=slow, limits=(0.2, 0.2))
    result = frame.measure(row, quick=True, say=lambda line: None)
    assert result["cells"] == {"one": {"seconds": 1.0}}
    assert result["series"] == {"one": {"kept": [1.0, 2.0]}}
    assert result["left_out"] == ["two: seconds", "three: seconds"]


def test_a_run_that_resumes_measures_only_what_is_missing(alone):
    asked = []

    def tasks(sizes):
        for line in sizes["lines"]:
            yield frame.Task(line, ("x",), lambda line=line: asked.append(line) or {"x": 1})

    row = replace(registry.by_id()["figure-4.1"], tasks=tasks, full={"lines": ("a", "b")})
    frame.measure(row, quick=False, say=lambda line: None)
    more = replace(row, full={"lines": ("a", "b", "c")})
    result = frame.measure(more, quick=False, resume=True, say=lambda line: None)
    assert asked == ["a", "b", "c"]
    assert list(result["cells"]) == ["a", "b", "c"]


def test_cells_show_ours_and_then_the_papers():
    text = pages.table({"500": {"a": 0.51234, "b": 3}, "1,000": {"a": 1234.5}}, {"1,000": {"a": 7.0}, "90": {"a": 1.0}})
    assert text.splitlines() == ["|  | a | b |", "| --- | --- | --- |", "| 90 | – · 1 | – |", "| 500 | 0.512 | 3 |",
                                 "| 1,000 | 1,234 · 7 | – |"]  # fmt: skip


def headings(path):
    return {
        pages.anchor(line.lstrip("# ")) for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "#"
    }


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: path.name)
def test_claims_that_cite_a_paper_link_to_its_row(path):
    for part in path.read_text(encoding="utf-8").split("\n\n"):
        links = LINK.findall(part)
        for target, anchor in links:
            assert (path.parent / target).exists(), target
            assert not anchor or anchor in headings(path.parent / target), f"{target}#{anchor}"
        if AUTHORS.search(part):
            assert links, f"{path.name} cites a paper without a link to its row: {part[:200]}"
