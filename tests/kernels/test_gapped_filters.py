"""Gapped k-mers with filters, limits and centre weights, as gkm-SVM and LS-GKM define them."""

import os
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_pairs as naive
from kernelweave import GappedKmer, Gaussian, InputError, Mismatch, Spectrum, parse
from kernelweave.kernels.profiles import eigenvalues, estimated_profile, gapped_profile
from kernelweave.sequences import DNA, Alphabet
from kernelweave.testing import check_kernel

pytestmark = pytest.mark.filterwarnings("ignore:.*ambiguous:kernelweave.errors.DataWarning")
FILTERS = ("gapped", "full", "truncated")
ABC = Alphabet("abc", name="abc", ambiguous="?")


@pytest.mark.parametrize(("length", "k", "size"), [(3, 2, 3), (4, 2, 3), (4, 3, 2), (3, 3, 3), (4, 2, 4), (5, 1, 2)])
@pytest.mark.parametrize("truncated", [False, True])
def test_estimates_are_least_squares(length, k, size, truncated):
    """The twin inverts the matrix from counts of words to counts of gapped words."""
    expected = naive.filtered_profile(length, k, size, "truncated" if truncated else "full")
    found = [float(value) for value in estimated_profile(length, k, size, truncated)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("length", "size"), [(1, 2), (3, 3), (4, 2), (3, 4)])
def test_eigenvalues_are_those_of_the_matrix_of_all_words(length, size, rng):
    profile = rng.normal(size=length + 1)
    every = naive.gapped_counts(length, 1, size)[1]
    matrix = [[profile[naive.differ(u, v)] for v in every] for u in every]
    values = eigenvalues(profile, size)
    expected = np.repeat(values, [comb(length, j) * (size - 1) ** j for j in range(length + 1)])
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), np.sort(expected), atol=1e-9)


@settings(max_examples=40)
@given(st.sampled_from(FILTERS), st.data())
def test_it_is_its_naive_twin(filter, data):
    rows = st.lists(st.text("ACGTN", min_size=1, max_size=14), min_size=1, max_size=4)
    X, Y, length = data.draw(rows), data.draw(rows), data.draw(st.integers(1, 4))
    k, both = data.draw(st.integers(1, length)), data.draw(st.booleans())
    most = data.draw(st.none() | st.integers(0, length))
    center = data.draw(st.none() | st.tuples(st.integers(1, 60), st.floats(0.5, 50)))
    given_center = {} if center is None else {"center_weight": center[0], "half_life": center[1]}
    kernel = GappedKmer(length, k, both, "dna", filter=filter, max_mismatches=most, **given_center)
    profile = naive.filtered_profile(length, k, 4, filter, most)
    twin = DNA, profile, both, center
    size = max(1.0, np.abs(naive.matrix(X, X, *twin)).max(), np.abs(naive.matrix(Y, Y, *twin)).max())
    np.testing.assert_allclose(kernel(X, Y), naive.matrix(X, Y, *twin), atol=1e-11 * size)
    own = naive.matrix(X, X, *twin)
    np.testing.assert_allclose(kernel(X), own, atol=1e-11 * size)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(own), atol=1e-11 * size)


@pytest.mark.parametrize("filter", FILTERS)
def test_other_alphabets_have_other_estimates(filter):
    X = ["abcabca", "cc?cabb", "bcb"]
    kernel = GappedKmer(4, 2, alphabet=ABC, filter=filter, max_mismatches=3)
    expected = naive.matrix(X, X, ABC, naive.filtered_profile(4, 2, 3, filter, 3))
    np.testing.assert_allclose(kernel(X), expected, atol=1e-12)


def test_words_too_many_for_a_table_give_the_same_values(monkeypatch, rng):
    X = ["".join(rng.choice(list("ACGT"), n)) for n in (3, 20, 40, 40)]
    for kernel in (
        GappedKmer(6, 4, True, "dna"),
        GappedKmer(6, 4, True, "dna", filter="truncated", max_mismatches=3),
        GappedKmer(5, 3, alphabet="dna", filter="full"),
        Mismatch(5, 2, "dna"),
    ):
        by_table, own = kernel(X), kernel.diag(X)
        monkeypatch.setattr("kernelweave.kernels.pair_rules.MAX_TABLE", 10)
        np.testing.assert_allclose(kernel(X), by_table, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.diag(X), own, rtol=1e-12)
        monkeypatch.undo()


def test_long_sequences_repeats_and_dense_keys(monkeypatch, rng):
    """Every way to add up pairs: by tables, by merged repeats, and by dense products."""
    X = ["".join(rng.choice(list("ACGT"), 300)), "A" * 200, "AC" * 90, "".join(rng.choice(list("ACGT"), 30)), "ACG"]
    kernel = GappedKmer(5, 3, True, "dna", filter="truncated", max_mismatches=3, center_weight=9, half_life=20.0)
    plain = GappedKmer(5, 3, True, "dna")
    expected = [naive.matrix(X, X, DNA, naive.filtered_profile(5, 3, 4, "truncated", 3), True, (9, 20.0))]
    expected.append(naive.matrix(X, X, DNA, naive.filtered_profile(5, 3, 4, "gapped"), True))
    for cost in (1e-9, 1e9):
        monkeypatch.setattr("kernelweave.kernels.pair_matrix.DENSE_COST", cost)
        for one, twin in zip((kernel, plain), expected, strict=True):
            np.testing.assert_allclose(one(X), twin, rtol=1e-11)
    monkeypatch.setattr("kernelweave.kernels.word_pairs.MIN_LONG", 10)
    monkeypatch.setattr("kernelweave.kernels.word_pairs.PAIRS_PER_ENTRY", 0)
    monkeypatch.setattr("kernelweave.kernels.word_pairs.FEATURE_COST", 1e9)
    for one, twin in zip((kernel, plain), expected, strict=True):
        np.testing.assert_allclose(one.diag(X), np.diagonal(twin), rtol=1e-11)


@pytest.mark.parametrize(
    "kernel",
    [
        GappedKmer(6, 4, True, filter="truncated"),
        GappedKmer(6, 4, filter="full").normalized(),
        GappedKmer(7, 4, True, filter="truncated", center_weight=20, half_life=5.0).normalized(),
        GappedKmer(11, 7, True, filter="truncated", max_mismatches=3, center_weight=50).normalized(),
        Gaussian(GappedKmer(6, 4, True, filter="truncated").normalized(), gamma=2.0),
        Gaussian(Spectrum(3) + GappedKmer(5, 3), 0.01),
    ],
    ids=repr,
)
def test_it_is_a_kernel(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(1, 50))) for _ in range(10)]
    check_kernel(kernel, [*X, X[0], "A" * 30])
    assert parse(repr(kernel)) == kernel


def test_it_is_definite_by_construction_only_where_nothing_is_cut_off():
    assert GappedKmer(11, 7).definite
    assert GappedKmer(11, 7, max_mismatches=4).definite
    assert not GappedKmer(11, 7, max_mismatches=3).definite
    assert GappedKmer(11, 7, filter="truncated").definite
    assert not GappedKmer(11, 7, filter="truncated", max_mismatches=3).definite
    whole = gapped_profile(11, 7)
    assert min(eigenvalues(whole, 4)) == 0
    assert min(eigenvalues([*whole[:4], *[0] * 8], 4)) < 0


def test_the_middle_counts_more():
    kernel = GappedKmer(3, 3, alphabet="dna", center_weight=8, half_life=1.0)
    weights = kernel.place_weights(np.arange(7), np.full(7, 7))
    assert weights.tolist() == [2, 3, 5, 8, 5, 3, 2]


def test_old_texts_are_the_same_kernel():
    old = parse("GappedKmer(length=10, k=6, reverse_complement=True, alphabet='dna')")
    assert old == GappedKmer(10, 6, True, "dna")
    assert repr(GappedKmer()) == "GappedKmer(k=6, length=10)"


def test_a_gaussian_of_straight_lines_is_an_rbf(rng):
    from kernelweave import RBF, Linear

    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(Gaussian(Linear(), 0.6)(X, Y), RBF(0.3)(X, Y), rtol=1e-12)
    np.testing.assert_allclose(Gaussian(Linear(), 0.6)(X), RBF(0.3)(X), rtol=1e-12)
    words, kernel = ["GATTACA", "GATTACC", "CC", "A"], Spectrum(2).normalized()
    K = np.exp(2.0 * (kernel(words[:3]) - 1.0))
    np.testing.assert_allclose(Gaussian(kernel, 2.0)(words)[:3, :3], K, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (GappedKmer(4, 2, filter="half"), "filter='half'; choose one of gapped, full, truncated"),
        (GappedKmer(4, 2, max_mismatches=-1), "whole number max_mismatches ≥ 0"),
        (GappedKmer(4, 2, center_weight=0), "whole number center_weight ≥ 1"),
        (GappedKmer(4, 2, center_weight=5, half_life=0.0), "finite half_life > 0"),
        (GappedKmer(20, 18, center_weight=5), "takes words of which there are at most 16,777,216"),
        (GappedKmer(24, 8, alphabet="text", filter="truncated"), "choices of columns; at most 20,000"),
        (GappedKmer(4, 2, True, "protein", filter="full"), "no complement"),
    ],
)
def test_errors_teach(kernel, message):
    with pytest.raises(InputError, match=message):
        kernel(["ACGT", "GATTACA"])


def test_pairs_have_no_features_of_their_own():
    with pytest.raises(InputError, match="compares words in pairs"):
        list(GappedKmer(4, 2, filter="full").features("ACGTACGT"))
    for gamma in (0.0, -1.0, np.inf):
        with pytest.raises(InputError, match="finite gamma > 0"):
            Gaussian(Spectrum(3), gamma)


#: The first test sequences of either side, and what LS-GKM's authors publish as its predictions (-t 2 -l 10 -k 6 -d 3).
PUBLISHED = {1: [0.871409, 0.492784, 0.361597, -0.0734241, 0.878029, 2.05588, 1.79133, 0.92323]}
PUBLISHED[-1] = [-1.26321, -0.829596, -0.621574, -1.0241, -0.862114, -0.556172, -0.612083, -0.582125]


def test_a_machine_predicts_what_ls_gkm_predicts():
    import csv
    import gzip

    from kernelweave import MKLClassifier

    folder = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "tfbs_nfe2_gkm" / "data.csv.gz"
    if not path.exists():
        pytest.skip(f"no NF-E2 peaks at {path}; set KERNELWEAVE_DATA to the data folder")
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    train = [row for row in rows if row["split"] == "train"]
    kernel = GappedKmer(10, 6, True, "dna", filter="truncated", max_mismatches=3).normalized()
    model = MKLClassifier(kernel, C=1.0, norm="fixed", scaling=None, tol=1e-6)
    model.fit([row["sequence"] for row in train], [int(row["y"]) for row in train])
    for label, expected in PUBLISHED.items():
        asked = [row["sequence"] for row in rows if row["split"] != "train" and int(row["y"]) == label]
        np.testing.assert_allclose(model.decision_function(asked[: len(expected)]), expected, atol=2e-3)
