"""Subsequences and words of similar letters, against what they are defined as."""

import numpy as np
import pytest

from kernelweave import InputError, MKLClassifier, SimilarKmers, Spectrum, Subsequence, load, save
from kernelweave.kernels.similar_kmers import letter_vectors
from kernelweave.sequences import PROTEIN
from kernelweave.testing import check_kernel


def by_features(kernel, A, B):
    """Σ of products of the features that both sequences have."""

    def listed(text):
        found = {}
        for _, feature, value in kernel.features(text):
            found[feature] = found.get(feature, 0.0) + value
        return found

    tables = [[listed(text) for text in texts] for texts in (A, B)]
    return np.array([[sum(v * b.get(u, 0.0) for u, v in a.items()) for b in tables[1]] for a in tables[0]])


def texts(n, letters, seed=0, longest=9):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(2, longest))) for _ in range(n)]


@pytest.mark.filterwarnings("ignore:.*ambiguous")
@pytest.mark.parametrize("kernel", [Subsequence(1, 0.3, "dna"), Subsequence(2, 1.0, "dna"), Subsequence(3, 0.5, "dna")])
def test_subsequences_are_those_of_the_definition(kernel):
    A, B = [*texts(7, "ACGT"), "ACNNGT", "NN"], texts(5, "ACGT", 1)
    np.testing.assert_allclose(kernel(A, B), by_features(kernel, A, B), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel(A), by_features(kernel, A, A), rtol=1e-12, atol=1e-15)
    check_kernel(kernel, A)


def test_without_gaps_it_would_be_words():
    X = ["AC", "CA", "GT", "AC"]
    np.testing.assert_allclose(Subsequence(2, 0.5, "dna")(X), 0.5**4 * Spectrum(2, alphabet="dna")(X))


@pytest.mark.filterwarnings("ignore:.*ambiguous")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_words_of_similar_letters_are_those_of_the_definition(k):
    A, B = [*texts(5, PROTEIN.letters), "MXWK"], texts(4, PROTEIN.letters, 1)
    kernel, S = SimilarKmers(k), letter_vectors() @ letter_vectors().T
    cut = [[[text[i : i + k] for i in range(len(text) - k + 1)] for text in T] for T in (A, B)]
    words = [[[word for word in found if "X" not in word] for found in side] for side in cut]
    code = PROTEIN.letters.index
    expected = [
        [sum(np.prod([S[code(p), code(q)] for p, q in zip(u, v, strict=True)]) for u in a for v in b) for b in words[1]]
        for a in words[0]
    ]
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(A, B), by_features(kernel, A, B), rtol=1e-9, atol=1e-12)
    check_kernel(kernel, A)


def test_letters_that_replace_each_other_are_alike():
    S = letter_vectors() @ letter_vectors().T
    code = PROTEIN.letters.index
    alike = {pair: S[code(pair[0]), code(pair[1])] for pair in ("IL", "KR", "DE", "WG", "CE")}
    np.testing.assert_allclose(np.diagonal(S), 1.0)
    assert min(alike["IL"], alike["KR"], alike["DE"]) > 4 * max(alike["WG"], alike["CE"])


@pytest.mark.parametrize(
    "kernel", [SimilarKmers(2).normalized(), Subsequence(2, 0.5, "protein").normalized()], ids=repr
)
def test_in_a_model_and_its_file(kernel, tmp_path):
    X = texts(40, "ILVM", longest=12) + texts(40, "DEKR", 1, longest=12)
    y = np.repeat([0, 1], 40)
    model = MKLClassifier(kernel.normalized()).fit(X, y)
    assert model.score(X, y) == 1.0
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (Subsequence(0), "k ≥ 1"),
        (Subsequence(2, 1.5), "decay"),
        (SimilarKmers(4), "k up to 3"),
        (SimilarKmers(0), "k ≥ 1"),
    ],
)
def test_parameters_are_checked(kernel, why):
    with pytest.raises(InputError, match=why):
        kernel(["ACDE", "WYV"])
