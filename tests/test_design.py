"""What docs/explanation/design.md draws is so: the walk of a fit goes down only, plan and tries hold what is shown."""

import re
from pathlib import Path

import numpy as np

from kernelweave import RBF, Linear, Spectrum, WeightedDegree
from kernelweave._fast.forest import build_forest, level_offset
from kernelweave._fast.linadd import add_scores, pack_queries
from kernelweave.errors import MemoryBudgetError
from kernelweave.gram import GRAMS, Needs, Room
from kernelweave.gram.plan import EXPLICIT_SAMPLES, LINADD_SAMPLES, plan
from kernelweave.views import as_views

ROOT = Path(__file__).parents[1]
SUPPORT = {"GATTAC": 1.0, "GATTCC": 0.5, "GACTAC": -1.0, "TTACAC": 2.0}


def block_with(words):
    """Return the block of the page that has these words."""
    text = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    return next(part for part in text.split("```")[1::2] if words in part)


def walk():
    """Return (floor, depth, name) of every call in the walk of a fit."""
    block = block_with("MKLClassifier.fit(X, y)")
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


def samples(n):
    rng = np.random.default_rng(0)
    text = ["".join(row) for row in rng.choice(list("ACGT"), (n, 20))]
    return as_views({"s": text, "x": rng.normal(size=(n, 2))})


WORDS, LISTED, NUMBERS = WeightedDegree(degree=4).on("s"), Spectrum(k=3).on("s"), RBF(0.5).on("x")


def test_offers_that_fit_have_the_ranks_that_are_drawn():
    drawn = re.findall(r"(\d+)  (\w+Gram) +(.+)", block_with("TOGETHER"))
    # products have no tiles
    X, many = samples(400), sum([(RBF(float(g)) * Linear()).on("x") for g in range(1, 300)], Linear().on("x"))
    found = set()
    for kernel in (NUMBERS, many):
        for budget in np.geomspace(10**6, 10**9, 40).astype(int).tolist():
            try:
                (row,) = plan(kernel, X, budget).rows
            except MemoryBudgetError:
                continue
            kinds = [kind for kind in GRAMS if not kind.special and kind.offer(row.terms, X, Room(budget))]
            best = min(kinds, key=lambda kind: kind.offer(row.terms, X, Room(budget)).rank)
            found.add((str(row.rank), best.__name__, row.how))
    assert found == set(drawn)


def test_reasons_to_part_are_those_that_are_drawn(monkeypatch):
    drawn = dict(re.findall(r"│   (\d)  ([^│\n]+?)(?:  |\n)", block_with("TOGETHER")))
    many, few = f"{LINADD_SAMPLES:,}", f"{EXPLICIT_SAMPLES:,}"
    X, roomy = samples(60), 10**9
    whole = plan(WORDS + NUMBERS, X, roomy)
    assert (len(whole.rows), whole.how) == (1, "matrices in double precision")
    found = {
        "1": plan(WORDS + NUMBERS, X, roomy, Needs(no_matrix=True)).why,
        "2": plan(WORDS + NUMBERS, X, 5 * 10**4).why,
    }
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 20)
    found["4"] = plan(WORDS + LISTED, X, roomy).why.replace("20", few)
    assert len(plan(WORDS + NUMBERS, X, roomy).rows) == 1, "all terms must have a way of their own"
    assert len(plan(WORDS + LISTED, X, roomy, Needs(descends=False)).rows) == 1
    monkeypatch.setattr("kernelweave.gram.plan.LINADD_SAMPLES", 20)
    found["3"] = plan(WORDS + NUMBERS, X, roomy).why.replace("20", many)
    assert found == drawn


def test_rows_of_a_parted_plan_are_those_that_are_drawn():
    drawn = block_with("PARTED")
    X, budget = samples(400), 4_000_000
    rows = plan(WORDS + LISTED + NUMBERS, X, budget).rows
    grams = [row.make() for row in rows]
    assert [type(gram).__name__ for gram in grams] == ["LinaddGram", "FeatureGram", "TiledGram"]
    for row, gram in zip(rows[:2], grams, strict=False):
        told = row.why.split("; ")[1]
        assert re.search(rf"{type(gram).__name__} +{row.how} +{told}", drawn)
    assert re.search(rf"some samples at a time ─+→ TiledGram +{rows[2].how}", drawn)
    (other,) = plan(NUMBERS * NUMBERS, X, 10**6).rows
    assert re.search(rf"CachedGram +{other.how}", drawn), "products have no form that tiles know"
    on_all = plan(WORDS + LISTED + NUMBERS, X, budget, Needs(on_all=True)).rows
    assert on_all[2].how.startswith("matrices"), "of what is left"
    _, *printed = block_with(">>> print(plan(").strip().splitlines()
    assert str(plan(WORDS + LISTED + NUMBERS, X, budget)).splitlines() == printed
