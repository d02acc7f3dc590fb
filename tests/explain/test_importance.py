"""k-mer extraction, importance, POIMs and logos: against enumeration, and on motifs that are known."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_explain as naive
from kernelweave import (
    RBF,
    InputError,
    MKLClassifier,
    MKLRegressor,
    Spectrum,
    WeightedDegree,
)
from kernelweave.datasets import make_motifs, make_shifted_motif
from kernelweave.explain import importance, kmer_scores, kmer_table, logo, poim, word_views
from kernelweave.kernels.strings import Split

EVEN = np.full(4, 0.25)
#: Some sequences are to hold N, which earns a warning.
unknown_letters = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.DataWarning")


def random_dna(n, length, seed, unknown=0.0):
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("ACGT"), (n, length))
    letters[rng.random((n, length)) < unknown] = "N"
    return ["".join(row) for row in letters]


def fitted(kernel, X, seed=0, **options):
    """A machine on random targets: every sequence is a support sequence."""
    y = np.random.default_rng(seed).normal(size=len(X))
    return MKLRegressor(kernel, loss="squared", norm="fixed", scaling=None, **options).fit(X, y)


def placed_weights(model, kernel, X):
    core = kernel.kernel if isinstance(kernel, Split) else kernel
    support = [X[i] for i in model.support_]
    return naive.placed_weights(
        support, model.dual_coef_[0], core.degree_weights(), core.distance_weights(), core.position_weights
    )


# -- against enumeration ---------------------------------------------------------------------------------------------


@unknown_letters
@settings(max_examples=25)
@given(
    st.integers(1, 5),
    st.integers(0, 2),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_placed_scores(degree, shift, order, weighted, even, seed):
    rng = np.random.default_rng(seed)
    X = random_dna(6, 6, seed, unknown=0.1)
    kernel = WeightedDegree(
        degree, shift, rng.random(degree), position_weights=rng.random(6) if weighted else None, alphabet="dna"
    )
    model = fitted(kernel, X)
    weights = placed_weights(model, kernel, X)
    chance = np.tile(EVEN, (6, 1)) if even else rng.dirichlet(np.ones(4), 6)
    expected = naive.placed_scores(weights, order, 6, chance)
    if even:
        np.testing.assert_allclose(kmer_scores(model, order).values, expected, rtol=0, atol=1e-10)
    share = np.array([[chance[p + j] for j in range(order)] for p in range(7 - order)])
    mean = [_expectation(expected[:, p], share[p]) for p in range(7 - order)]
    np.testing.assert_allclose(poim(model, order, chance).values, expected - mean, rtol=0, atol=1e-10)


def _expectation(values, letters):
    """Mean of the values of all words under independent letters, (order, 4)."""
    chance = np.ones(1)
    for row in letters:
        chance = np.outer(chance, row).ravel()
    return chance @ values


@pytest.mark.parametrize(
    "kernel",
    [
        WeightedDegree(degree=3),
        WeightedDegree(degree=3).normalized(),
        WeightedDegree(degree=3, shift=1),
        WeightedDegree(degree=4).split("degree", "position"),
        WeightedDegree(degree=2) + WeightedDegree(degree=3, shift=2),
        2.0 * WeightedDegree(degree=3).normalized().split("degree"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_poim_is_a_difference_of_expectations(kernel, order):
    X = random_dna(12, 5, 3)
    model = MKLRegressor(kernel, norm=2).fit(X, np.random.default_rng(1).normal(size=12))
    chance = np.random.default_rng(2).dirichlet(np.ones(4), 5)
    expected = naive.poim(model.predict, order, 5, chance)
    np.testing.assert_allclose(poim(model, order, chance).values, expected, rtol=0, atol=1e-10)


@unknown_letters
@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(0, 2), st.integers(1, 4), st.integers(0, 10**6))
def test_free_scores(k, more, order, seed):
    rng = np.random.default_rng(seed)
    X = random_dna(5, 8, seed, unknown=0.05)
    kernel = Spectrum(k + more, min_k=k, weights=rng.random(more + 1) + 0.1, alphabet="dna")
    model = fitted(kernel, X)
    weights = naive.free_weights([X[i] for i in model.support_], model.dual_coef_[0], kernel.lengths())
    found = kmer_scores(model, order)
    np.testing.assert_allclose(found.values[:, 0], naive.free_scores(weights, order, EVEN), rtol=0, atol=1e-10)
    assert found.positions.tolist() == [-1]


def test_free_scores_are_a_difference_of_expectations():
    """In the middle of a sequence, where all words that overlap have room."""
    X = random_dna(12, 6, 5)
    model = MKLRegressor(Spectrum(k=3)).fit(X, np.random.default_rng(1).normal(size=12))
    chance = np.array([0.1, 0.2, 0.3, 0.4])
    expected = naive.poim(model.predict, 2, 6, np.tile(chance, (6, 1)))[:, 2]
    np.testing.assert_allclose(poim(model, 2, chance).values[:, 0], expected, rtol=0, atol=1e-10)


def test_both_strands_score_alike():
    X = random_dna(10, 9, 6)
    scores = kmer_scores(fitted(Spectrum(k=3, reverse_complement=True), X), 2)
    flipped = [str(word)[::-1].translate(str.maketrans("ACGT", "TGCA")) for word in scores.kmers]
    by_word = dict(zip(scores.kmers.tolist(), scores.values[:, 0], strict=True))
    np.testing.assert_allclose([by_word[word] for word in flipped], scores.values[:, 0], atol=1e-12)


def test_other_alphabets():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 8)) for _ in range(15)]
    model = fitted(WeightedDegree(degree=3, alphabet="protein"), X)
    scores = kmer_scores(model, 2)
    assert scores.values.shape == (400, 7)
    naive_one = sum(model.dual_coef_[0][r] * (X[q][3] == "K") for r, q in enumerate(model.support_)) * 0.5
    weights = kmer_table(model)
    row = (weights["kmer"] == "K") & (weights["position"] == 3)
    assert weights["weight"][row].sum() == pytest.approx(naive_one, abs=1e-12)
    assert len(importance(model).orders) == 4  # 20^5 words are too many to list by default


# -- what is made of the scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [WeightedDegree(degree=3, shift=1), Spectrum(k=3)], ids=repr)
def test_importance_sums_up_scores(kernel):
    model = fitted(kernel, random_dna(10, 7, 4))
    for how, make in {
        "max": lambda v: np.abs(v).max(axis=0),
        "mean": lambda v: np.abs(v).mean(axis=0),
        "signed": lambda v: v[np.abs(v).argmax(axis=0), np.arange(v.shape[1])],
    }.items():
        found = importance(model, [1, 3], how)
        assert found.orders.tolist() == [1, 3]
        for row, order in zip(found.values, found.orders, strict=True):
            values = kmer_scores(model, int(order)).values
            np.testing.assert_allclose(row[: values.shape[1]], make(values), rtol=0, atol=1e-12)
            assert not row[values.shape[1] :].any()  # a longer word does not fit there


@pytest.mark.parametrize("kernel", [WeightedDegree(degree=3, shift=1), Spectrum(k=3)], ids=repr)
def test_differential_importance_is_what_a_letter_more_adds(kernel):
    model = fitted(kernel, random_dna(10, 7, 4))
    most = [np.zeros(8)] + [np.abs(poim(model, k, "uniform").values).max(axis=0) for k in (1, 2, 3, 4)]
    found = importance(model, [1, 2, 4], "differential")
    for row, k in zip(found.values, found.orders, strict=True):
        n = len(most[k])
        left, right = most[k - 1][:n], most[k - 1][1 : n + 1] if n > 1 else most[k - 1][:1]
        np.testing.assert_allclose(row[:n], most[k] - np.maximum(left, right), rtol=0, atol=1e-12)
        assert not row[n:].any()


def test_logo_holds_letters_that_matter():
    model = fitted(WeightedDegree(degree=3), random_dna(10, 7, 4))
    whole, strict = logo(model, min_share=0.0), logo(model, min_share=0.5)
    np.testing.assert_allclose(whole.values, poim(model, 1, "uniform").values.T)
    np.testing.assert_allclose(whole.values.sum(axis=1), 0.0, atol=1e-12)
    kept = np.abs(whole.values) >= 0.5 * np.abs(whole.values).max()
    np.testing.assert_array_equal(strict.values, np.where(kept, whole.values, 0.0))


def test_background_is_counted_in_sequences():
    X = random_dna(20, 5, 8)
    model = fitted(WeightedDegree(degree=3), X)
    counts = np.array([[sum(x[i] == c for x in X) for c in "ACGT"] for i in range(5)]) / 20
    assert len(model.support_) == 20
    expected = poim(model, 2, counts).values
    np.testing.assert_allclose(poim(model, 2).values, expected, atol=1e-12)
    np.testing.assert_allclose(poim(model, 2, X).values, expected, atol=1e-12)


def test_score_table_is_sorted():
    scores = kmer_scores(fitted(WeightedDegree(degree=3), random_dna(10, 7, 4)), 2)
    table = scores.table(top=5)
    best = np.sort(np.abs(scores.values).ravel())[::-1][:5]
    np.testing.assert_allclose(np.abs(table["weight"]), best)
    u, p = np.flatnonzero(scores.kmers == table["kmer"][0])[0], table["position"][0]
    assert scores.values[u, p] == table["weight"][0]


# -- the papers' toy data --------------------------------------------------------------------------------------------


@cache
def motif_machine(noise):
    X, y = make_motifs(1000, noise=noise, random_state=1)
    return MKLClassifier(WeightedDegree(degree=20).normalized(), C=2.0, norm="fixed", scaling=None).fit(X, y)


@pytest.mark.parametrize("noise", [0, 2, 4])
def test_motifs_are_found_at_their_places(noise):
    model = motif_machine(noise)
    letters = logo(model)
    text = "".join(letters.letters[c] for c in letters.values.argmax(axis=1))
    assert text[10:17] == "GATTACA"
    assert text[30:37] == "AGTAGTG"
    sevens = kmer_scores(model, 7)
    for motif, place in (("GATTACA", 10), ("AGTAGTG", 30)):
        column = sevens.values[:, place]
        assert sevens.kmers[column.argmax()] == motif
    by_place = importance(model, [7]).values[0]
    near = np.r_[8:13, 28:33]
    assert set(np.argsort(-by_place)[:6]) <= set(near)


def test_noise_leaves_shorter_words():
    gains = [importance(motif_machine(noise), how="differential").values.max(axis=1) for noise in (0, 2, 4)]
    assert gains[0].argmax() + 1 == 7  # both motifs are whole
    ratios = [gain[6] / gain[2] for gain in gains]  # words of seven letters against those of three
    assert ratios[0] > ratios[1] > 1 > ratios[2]


def test_shifted_motif_is_found_all_over_its_region():
    X, y = make_shifted_motif(500, random_state=0)
    model = MKLClassifier(WeightedDegree(degree=8, shift=10).normalized(), norm="fixed", scaling=None).fit(X, y)
    scores = kmer_scores(model, 3)
    triple = scores.values[list(scores.kmers).index("AAA")]
    assert (triple[50:64] > 0).all()
    assert triple[50:64].mean() > 3 * np.abs(np.r_[triple[:35], triple[80:]]).max()
    best = scores.values[:, 50:64].argmax(axis=0)
    assert (scores.kmers[best] == "AAA").mean() > 0.9


# -- what is refused -------------------------------------------------------------------------------------------------


def test_terms_are_chosen():
    X = random_dna(20, 6, 2)
    kernel = WeightedDegree(degree=2) + Spectrum(k=2) + WeightedDegree(degree=3, shift=1)
    model = MKLClassifier(kernel, norm=2).fit(X, np.arange(20) % 2)
    (placed, free) = word_views(model)
    assert placed.terms == (0, 2)
    assert free.terms == (1,)
    both = kmer_scores(model, 2, term=placed.terms).values
    each = [kmer_scores(model, 2, term=m).values for m in placed.terms]
    np.testing.assert_allclose(both, sum(each), atol=1e-12)
    by_name = kmer_scores(model, 2, term="WeightedDegree(degree=2)").values
    np.testing.assert_allclose(by_name, each[0], atol=1e-15)
    with pytest.raises(InputError, match="word_views"):
        kmer_scores(model, 2)
    with pytest.raises(InputError, match="no term 7"):
        kmer_scores(model, 2, term=7)


@pytest.mark.parametrize(
    ("work", "match"),
    [
        (lambda model: kmer_scores(model, 0), "whole number from 1 to 6"),
        (lambda model: kmer_scores(model, 7), "from 1 to 6"),
        (lambda model: importance(model, []), "at least one"),
        (lambda model: importance(model, how="median"), "max, mean, signed"),
        (lambda model: kmer_scores(model, 1, machine=3), "machine must be"),
        (lambda model: poim(model, 1, "gc"), "background must be"),
        (lambda model: poim(model, 1, np.ones((6, 4))), "add up to 1"),
        (lambda model: poim(model, 1, ["ACG", "CGT"]), "3 letters"),
    ],
)
def test_errors_teach(work, match):
    model = fitted(WeightedDegree(degree=2), random_dna(8, 6, 0))
    with pytest.raises(InputError, match=match):
        work(model)


def test_vectors_have_no_words():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = MKLClassifier(RBF(1.0)).fit(X, np.arange(20) % 2)
    with pytest.raises(InputError, match="has no words"):
        kmer_scores(model, 2)
