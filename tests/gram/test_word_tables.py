"""Machines on pairs of words, by tables of all words."""

import numpy as np
import pytest

from kernelweave import Frozen, GappedKmer, InputError, Mismatch, MKLClassifier, Spectrum, load, save
from kernelweave.gram import FeatureGram, Needs, WordTableGram, bind, estimate, for_prediction
from kernelweave.kernels.kinds import ONLY_PAIRS, PAIRS
from kernelweave.testing import check_gram
from kernelweave.views import as_views

pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")
GKM = GappedKmer(7, 4, True, "dna", filter="truncated", max_mismatches=3)
CENTRED = GappedKmer(7, 4, True, "dna", filter="truncated", center_weight=20, half_life=4.0)
TERMS = [
    GappedKmer(6, 4, True, "dna").normalized(),
    2.0 * GappedKmer(5, 3, alphabet="dna", filter="truncated", max_mismatches=2),
    Mismatch(4, 1, "dna"),
    CENTRED.normalized(),
    Frozen(GappedKmer(4, 2, alphabet="dna", filter="full") + Mismatch(3, 1, "dna")),
]


def sequences(seed, n, least=1, most=60):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGTN"), rng.integers(least, most), p=[0.24] * 4 + [0.04])) for _ in range(n)]


def planted(seed, n):
    """Half of the sequences have a motif, on either strand."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = ["".join(rng.choice(list("ACGT"), 40)) for _ in y]
    return [
        x[:12] + ("TGACTCA" if rng.random() < 0.5 else "TGAGTCA") + x[19:] if c else x
        for x, c in zip(X, y, strict=True)
    ], y


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_products_are_those_of_the_matrices(n_jobs):
    gram = WordTableGram(TERMS, as_views(sequences(0, 23)), n_jobs)
    check_gram(gram, as_views(["ACGTACGGACC", "A", "NNNNNNNN"]))
    assert check_gram(gram.sampled(np.arange(0, 23, 2))) is None


def test_kinds():
    assert GappedKmer(6, 4).gram_kind == "features"
    assert GappedKmer(11, 7).gram_kind == PAIRS
    assert GKM.gram_kind == CENTRED.gram_kind == GKM.normalized().gram_kind == ONLY_PAIRS
    assert Frozen(GappedKmer(11, 7) + Spectrum(3)).gram_kind == "features"
    assert Frozen(GappedKmer(11, 7) + GKM).gram_kind == ONLY_PAIRS
    assert Frozen(GKM + Spectrum(3)).gram_kind == "dense"


def test_words_too_many_for_tables():
    X = as_views(sequences(0, 10, 15, 30))
    long = GappedKmer(13, 11, alphabet="dna")
    assert isinstance(for_prediction([long], X, np.ones(1)), FeatureGram)
    mixed = for_prediction(
        [GKM, long, GappedKmer(13, 11, alphabet="dna", filter="full", max_mismatches=2)], X, np.ones(3)
    )
    check_gram(mixed)


def test_a_machine_without_a_matrix_is_the_machine():
    X, y = planted(0, 60)
    held = MKLClassifier(GKM.normalized(), dual="smo", tol=1e-5).fit(X, y)
    for dual in ("active_set", "chunking"):
        free = MKLClassifier(GKM.normalized(), dual=dual, tol=1e-5).fit(X, y)
        np.testing.assert_allclose(free.objective_, held.objective_, rtol=1e-4)
    how, need = estimate(GKM.normalized(), as_views(X), needs=Needs(no_matrix=True))
    assert how == "no matrix"
    assert need > 8 * 4**7
    assert isinstance(bind(CENTRED, as_views(X), needs=Needs(no_matrix=True)), WordTableGram)


@pytest.mark.parametrize("kernel", [GKM.normalized() + Spectrum(4).normalized(), CENTRED.normalized()], ids=repr)
def test_predictions_are_those_of_the_kernel(kernel, tmp_path):
    X, y = planted(0, 60)
    Z = planted(1, 20)[0] + ["ACG", "ACGTNACGTACGT"]
    model = MKLClassifier(kernel).fit(X, y)
    support = [X[i] for i in model.support_]
    expected = model.kernel_(Z, support) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(Z), expected, atol=1e-10)
    np.testing.assert_allclose(model.compile().decision_function(Z), expected, atol=1e-10)
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(Z), model.decision_function(Z))
    assert (model.predict(planted(2, 60)[0]) == planted(2, 60)[1]).mean() > 0.85


def test_several_classes_and_weights_of_their_own():
    X, y = planted(0, 60)
    y = y + (np.arange(60) % 3 == 0)
    for weights in ("shared", "per_class"):
        model = MKLClassifier(GKM.normalized() + CENTRED.normalized(), weights=weights).fit(X, y)
        parts = model.fitted_.parts(X[:5])
        np.testing.assert_allclose(parts.sum(axis=0) + model.intercept_, model.decision_function(X[:5]), atol=1e-9)


@pytest.mark.parametrize("kernel", [GKM.normalized(), CENTRED, CENTRED.normalized() + Spectrum(3)], ids=repr)
def test_words_explain_what_pairs_say(kernel):
    from kernelweave.explain import contributions, kmer_table

    X, y = planted(0, 60)
    model = MKLClassifier(kernel).fit(X, y)
    found = contributions(model, X[:4])
    np.testing.assert_allclose(found.positions.sum(axis=1) + found.intercept, found.decision, atol=1e-9)
    assert len(kmer_table(model, top=5)) == 5
    one = found.kmers(0)
    np.testing.assert_allclose(one["weight"].sum() + found.intercept, found.decision[0], atol=1e-9)


def test_weights_by_place_have_no_gapped_words():
    with pytest.raises(InputError, match="no gapped words to list"):
        FeatureGram([CENTRED], as_views(["ACGTACGT"]))


def test_whole_words_weigh_what_they_add():
    """A word's weight is the decision value of the word alone, but for the intercept and the norm."""
    from kernelweave.explain import kmer_table

    X, y = planted(0, 60)
    model = MKLClassifier(GKM).fit(X, y)
    table = kmer_table(model, top=6)
    alone = model.decision_function(table["kmer"].tolist()) - model.intercept_[0]
    np.testing.assert_allclose(table["weight"], alone, rtol=1e-9)
    assert any("GACTC" in word or "GAGTC" in word for word in table["kmer"])
