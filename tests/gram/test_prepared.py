"""Prepared decisions: what they add and slide is what products with the whole kernel say, for every gram."""

import numpy as np
import pytest

from kernelweave import RBF, InputError, Laplacian, Linear, Polynomial, Spectrum, WeightedDegree
from kernelweave.errors import MemoryBudgetError
from kernelweave.gram import for_prediction
from kernelweave.gram.prepared import Windows
from kernelweave.sequences import ALPHABETS, as_sequences
from kernelweave.views import as_views

WD = WeightedDegree
LENGTH = 10
STRINGS = {
    "placed": [WD(4), WD(3).normalized()],
    "listed": [Spectrum(k=2), Spectrum(k=3).normalized()],
    "shifts": [WD(3, shift=2)],
    "both": [WD(3), Spectrum(k=2)],
}


def texts(rng, n, length=LENGTH):
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]


def case(name, rng, n=30, n_new=12):
    """Terms, samples and new samples."""
    if name in STRINGS:
        return STRINGS[name], as_views(texts(rng, n)), as_views(texts(rng, n_new))
    terms = [RBF(0.5), Laplacian()] if name == "numbers" else [Linear(), Polynomial(degree=2)]
    return terms, as_views(rng.normal(size=(n, 3))), as_views(rng.normal(size=(n_new, 3)))


def naive(terms, X, at, factors, coef, weights):
    """Σ_m weights[c, m] factors[m] K_m(at, X) @ coef[:, c], one machine and one term at a time."""
    out = np.zeros((len(at), coef.shape[1]))
    for c in range(coef.shape[1]):
        for m, term in enumerate(terms):
            row = weights[0 if len(weights) == 1 else c]
            out[:, c] += row[m] * factors[m] * (term.compute(at, X) @ coef[:, c])
    return out


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", [*STRINGS, "numbers", "vectors"])
def test_values_are_those_of_whole_matrices(name, shared, rng):
    terms, X, at = case(name, rng)
    factors, coef = rng.uniform(0.5, 2.0, len(terms)), rng.normal(size=(len(X), 3))
    coef[rng.random(len(coef)) < 0.3] = 0.0
    weights = rng.uniform(0.1, 1.0, (1 if shared else 3, len(terms)))
    if not shared:
        weights[1] = 0.0  # a machine without any term
    expected = naive(terms, X, at, factors, coef, weights)
    prepared = for_prediction(terms, X, factors).prepare(coef, weights)
    assert prepared.nbytes == 0, "nothing is held until it is asked for"
    kept = prepared.kept(1e9)
    assert (kept.nbytes > 0) == (name != "numbers")
    for one in (prepared, kept):
        out = np.ones((len(at), 3))
        one.add(at, out, 2)
        np.testing.assert_allclose(out, 1.0 + expected, rtol=1e-9, atol=1e-9)


def test_what_does_not_fit_is_refused(rng):
    terms, X, _ = case("placed", rng)
    prepared = for_prediction(terms, X, np.ones(2)).prepare(np.ones((len(X), 1)), np.ones((1, 2)))
    with pytest.raises(MemoryBudgetError, match="the budget is 10 B"):
        prepared.kept(10)


def test_keeping_pays_for_many_samples_of_what_adds_up(rng):
    for name, pays in (("placed", True), ("listed", True), ("both", True), ("vectors", True), ("numbers", False)):
        terms, X, _ = case(name, rng, n=400)
        prepared = for_prediction(terms, X, np.ones(len(terms))).prepare(np.ones((400, 1)), np.ones((1, len(terms))))
        assert prepared.pays(10**6) == pays
        assert prepared.pays(1) == (name == "vectors"), "a normal is summed up for one sample, too"


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("name", STRINGS)
@pytest.mark.parametrize("unknown", [0.0, 0.05, 1.0])
def test_windows_slide_as_if_they_were_cut_out(name, unknown, rng):
    terms, X, _ = case(name, rng)
    coef, weights = rng.normal(size=(len(X), 2)), rng.uniform(0.1, 1.0, (2, len(terms)))
    kept = for_prediction(terms, X, np.ones(len(terms))).prepare(coef, weights).kept(1e9)
    assert kept.slides == (name in ("placed", "both", "shifts"))
    row = np.array(list(texts(rng, 1, 200)[0]))
    row[rng.random(200) < unknown] = "N"
    row = "".join(row)
    starts = rng.permutation(200 - LENGTH + 1)[:60]
    codes = as_sequences([row], "dna").flat_codes()
    out = np.ones(60)
    kept.slide(Windows(codes, starts, LENGTH, ALPHABETS["dna"]), 1, out)
    cut = as_views(as_sequences([row[i : i + LENGTH] for i in starts], "dna"))
    expected = naive(terms, X, cut, np.ones(len(terms)), coef, weights)[:, 1]
    np.testing.assert_allclose(out, 1.0 + expected, rtol=1e-9, atol=1e-9)


def test_windows_of_another_length_are_refused(rng):
    terms, X, _ = case("placed", rng)
    kept = for_prediction(terms, X, np.ones(2)).prepare(np.ones((len(X), 1)), np.ones((1, 2))).kept(1e9)
    codes = as_sequences(texts(rng, 1, 50), "dna").flat_codes()
    with pytest.raises(InputError, match="place by place"):
        kept.slide(Windows(codes, np.arange(5), LENGTH + 1, ALPHABETS["dna"]), 0, np.zeros(5))
