"""What docs/design.md draws is so: the walk of a fit goes down only, and the tries hold the numbers that are shown."""

import re
from pathlib import Path

import numpy as np

from kernelweave._fast.forest import build_forest, level_offset
from kernelweave._fast.linadd import add_scores, pack_queries

ROOT = Path(__file__).parents[1]
SUPPORT = {"GATTAC": 1.0, "GATTCC": 0.5, "GACTAC": -1.0, "TTACAC": 2.0}


def walk():
    """Return (floor, depth, name) of every call in the walk of a fit."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    block = next(part for part in text.split("```") if "MKLClassifier.fit(X, y)" in part)
    found = [re.match(r"(−?\d)( +)([\w.]+)", line) for line in block.strip().splitlines()]
    assert all(found)
    return [(int(line[1].replace("−", "-")), len(line[1] + line[2]), line[3]) for line in found]


def test_the_walk_of_a_fit_takes_no_step_back_up():
    above = []
    for floor, depth, name in walk():
        while above and above[-1][1] >= depth:
            above.pop()
        assert not above or floor <= above[-1][0], f"{name} is above {above[-1][2]}, which calls it"
        above.append((floor, depth, name))


def test_every_call_of_the_walk_is_there():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for _, _, name in walk():
        last = name.split(".")[-1]
        assert last == "_fast" or re.search(rf"(def|class) {last}\b", source), f"there is no {name}"


def test_the_tries_are_as_drawn():
    codes = np.array([["ACGT".index(letter) for letter in row] for row in SUPPORT], np.uint8)
    beta, coef = np.zeros((6, 6)), np.array(list(SUPPORT.values()))
    beta[0] = 1.0
    forest = build_forest(np.ascontiguousarray(codes.T), coef, beta, 0, 1, 2, 4, True, True)
    levels = forest.levels[0]
    assert (levels[2], levels[3]) == (0.5, 2.0)
    assert (levels[level_offset(4, 2) + 4 * 2 + 0], levels[level_offset(4, 2) + 4 * 3 + 3]) == (1.0, 4.0)
    slopes = forest.rows.view(np.float64)[:, 2]
    assert slopes.tolist() == [2.0, 0.5, -1.0, 0.5, 0.5, 1.5, 1.0]  # four paths, and the segments of path 1
    out = np.zeros((1, 4))
    add_scores(forest, pack_queries(codes), out)
    assert out[0].tolist() == [6.0, 5.0, -3.0, 12.0]
