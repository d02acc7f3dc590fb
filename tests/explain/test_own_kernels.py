"""Listed kernels of a user's own are explained, scanned and estimated as those of the library are."""

import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kernelweave import Frozen, Mismatch, MKLClassifier, Spectrum, per_feature
from kernelweave.explain import contributions, kmer_scores, kmer_table, motif, mutation_map, word_views
from kernelweave.gram import Needs, estimate
from kernelweave.kernels import ExplicitKernel
from kernelweave.kernels.sparse_rows import Rows
from kernelweave.kernels.vocabulary import KeyVocabulary, Shape, Vocabulary
from kernelweave.kernels.word_vocabulary import WordVocabulary
from kernelweave.scan.sliding import WindowModel
from kernelweave.views import as_views


def _texts(rng, letters, n=40, length=9):
    y = np.repeat([0, 1], n // 2)
    codes = rng.integers(0, len(letters), (n, length))
    codes[y == 1, 2:7] = [0, 1, 2, 3, 4 % len(letters)]
    return ["".join(letters[c] for c in row) for row in codes], y


class PairKeys:
    """Keys of pairs of letters, by an object that has no parameters to be read out of it."""

    def __init__(self, size, bits):
        self.size, self.bits = size, bits

    def __call__(self, codes, offsets):
        keys, starts = [], [0]
        for low, high in itertools.pairwise(offsets):
            pairs = zip(codes[low : high - 1], codes[low + 1 : high], strict=True)
            keys += [(int(a) << self.bits) + int(b) for a, b in pairs if a < self.size and b < self.size]
            starts.append(len(keys))
        return np.array(keys, np.uint64), np.array(starts)


@dataclass(eq=False, repr=False)
class Pairs(ExplicitKernel):
    """Pairs of letters, as keys; `shaped` says how they look."""

    shaped: bool = True
    alphabet: str = "dna"

    def parts(self, alphabet, degree=None):
        shape = Shape.run(2) if self.shaped else None
        return [(2.0, KeyVocabulary(PairKeys(alphabet.size, alphabet.bits), 2 * alphabet.bits, shape=shape))]


@dataclass(eq=False, repr=False)
class Roots(Pairs):
    """The same with the roots of counts: `finish` is the user's own as well."""

    def finish(self, rows):
        counts = np.sqrt(rows.counts, dtype=np.float64)
        return replace(rows, counts=counts, powers=np.stack([rows.powers[0], rows.powers[1], rows.powers[1]]))


class Letters(Vocabulary):
    """Counts letters, and says no more than it must."""

    def fit(self, sequences):
        return self.map(sequences)

    def map(self, sequences):
        counted = [Counter(sequences.codes(i).tolist()) for i in range(len(sequences))]
        ids = np.array([u for row in counted for u in sorted(row)], np.int32)
        counts = np.array([row[u] for row in counted for u in sorted(row)], np.float64)
        starts = np.cumsum([0] + [len(row) for row in counted])
        powers = np.array([(len(r), sum(r.values()), sum(v * v for v in r.values())) for r in counted], float).T
        return Rows(ids, counts, starts, sequences.alphabet.size, powers.reshape(3, -1))


@dataclass(eq=False, repr=False)
class Composition(ExplicitKernel):
    """Which letters there are."""

    alphabet: str = "dna"

    def parts(self, alphabet, degree=None):
        return [(1.0, Letters())]


@dataclass(eq=False, repr=False)
class Runs(ExplicitKernel):
    """Runs of one letter, as words of text without places."""

    alphabet: str = "text"

    def parts(self, alphabet, degree=None):
        return [(1.0, WordVocabulary(partial(re.findall, "A+|C+|G+|T+")))]


OWN = [Pairs(), Pairs(shaped=False), Roots(), Roots(shaped=False), Composition(), Runs()]
PLACED = (True, False, True, False, False, False)


@pytest.mark.parametrize(("kernel", "placed"), [*zip(OWN, PLACED, strict=True)], ids=[*map(repr, OWN)])
@pytest.mark.parametrize("norm", [False, True], ids=["plain", "normalized"])
def test_own_listed_kernels_are_explained(kernel, placed, norm, rng):
    X, y = _texts(rng, "ACGT")
    new = [*X[:3], "ACGTTTTTT", "GGGGGGGGG"]
    kernel = 0.5 * kernel.normalized() if norm else kernel
    model = MKLClassifier(kernel).fit(X, y)
    f, why = model.decision_function(new), contributions(model, new)
    letters = sum(added.sum(axis=1) for added in why.by_view.values())
    np.testing.assert_allclose(letters + why.unplaced + why.intercept, f, atol=1e-9)
    assert bool(why.by_view) == placed
    for i in range(len(new)):
        words = why.kmers(i)
        np.testing.assert_allclose(words["weight"].sum() + why.intercept, f[i], atol=1e-9)
        assert ((words["position"] >= 0) == placed).all()
    table = kmer_table(model)
    assert len(table)
    assert np.isfinite(table["weight"]).all()
    assert [(view.view, view.placed) for view in word_views(model)] == [(None, False)]
    change = mutation_map(model, new[3])
    assert change.values[0, change.letters.index("C")] == pytest.approx(
        model.decision_function(["CCGTTTTTT"])[0] - f[3], abs=1e-9
    )
    assert motif(model, "ACG").consensus


@pytest.mark.parametrize("kernel", OWN, ids=repr)
def test_own_listed_kernels_are_scanned_and_estimated(kernel, rng):
    X, y = _texts(rng, "ACGT")
    views = as_views(X)
    how, n_bytes = estimate(kernel, views, needs=Needs(no_matrix=True))
    assert how == "no matrix"
    assert 0 < n_bytes < 1e8
    model = MKLClassifier(kernel).fit(X, y)
    text = "".join(X[:4])
    codes = views.sequences(kernel.alphabet).alphabet.table[np.frombuffer(text.encode(), np.uint8)]
    starts = np.arange(len(text) - 8)
    expected = model.decision_function([text[i : i + 9] for i in starts])
    np.testing.assert_allclose(WindowModel(model).scores(codes, starts), expected, atol=1e-9)


def test_pairs_with_a_shape_are_those_of_the_spectrum(rng):
    X, y = _texts(rng, "ACGT")
    own, spectrum = MKLClassifier(Pairs()).fit(X, y), MKLClassifier(2.0 * Spectrum(2, alphabet="dna")).fit(X, y)
    for table in (kmer_table, lambda model: kmer_scores(model, order=3).table(64)):
        mine, theirs = table(own), table(spectrum)
        weights = dict(zip(theirs["kmer"], theirs["weight"], strict=True))
        assert {**dict(zip(mine["kmer"], mine["weight"], strict=True))} == pytest.approx(weights, abs=1e-6)
    assert kmer_table(MKLClassifier(Pairs(shaped=False)).fit(X, y))["kmer"][0].startswith("feature ")
    assert kmer_table(MKLClassifier(Composition()).fit(X, y))["kmer"][0].startswith("feature ")


def test_mismatches_of_proteins_show_letters_that_are_left_out(rng):
    X, y = _texts(rng, "ACDEFGHIKLMNPQRSTVWY")  # the second half has ACDEF at 2
    model = MKLClassifier(Mismatch(k=5, mismatches=1, alphabet="protein")).fit(X, y)
    table = kmer_table(model)
    words = set(table["kmer"])
    assert {"ACDEF", "AC.EF", "ACDE.", "A.D.F"} <= words
    assert all(len(word) == 5 for word in words)
    why, f = contributions(model, X), model.decision_function(X)
    np.testing.assert_allclose(why.positions.sum(axis=1) + why.intercept, f, atol=1e-9)
    of_one = why.kmers(len(X) - 1)
    found = dict(zip(of_one["kmer"], of_one["position"], strict=True))
    assert found["AC.EF"] == 2
    assert of_one["weight"].sum() + why.intercept == pytest.approx(f[-1], abs=1e-9)


def test_words_of_columns_inside_a_sum_that_is_kept_whole(rng):
    (a, y), (b, _) = _texts(rng, "ACGT"), _texts(rng, "ACGT")
    X = {"left": a, "right": b, "other": a}
    model = MKLClassifier(Frozen(per_feature(Spectrum(2)).on(["left", "right"])) + Spectrum(1).on(["other"])).fit(X, y)
    why = contributions(model, X)
    assert set(why.by_view) == {(("left", "right"), "left"), (("left", "right"), "right"), "other"}
    total = sum(added.sum(axis=1) for added in why.by_view.values())
    np.testing.assert_allclose(total + why.intercept, model.decision_function(X), atol=1e-9)
    assert [view.view for view in word_views(model)] == ["other"]


@pytest.mark.parametrize("kernel", OWN, ids=repr)
def test_own_listed_kernels_are_kernels(kernel, rng):
    X, _ = _texts(rng, "ACGT", n=12)
    K = kernel(X)
    np.testing.assert_allclose(K, K.T)
    np.testing.assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-5)
    assert np.linalg.eigvalsh(K).min() > -1e-6 * np.abs(K).max()


def test_the_kernel_of_the_documentation_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "howto" / "adding_a_kernel.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?class Codons.*?)```", page, re.DOTALL)
    names = {"__name__": __name__}
    exec(code, names)
    model = MKLClassifier(names["Codons"]()).fit(["ATGGCC", "ATGTTT", "CCCAAA", "CCCGGG"], [1, 1, 0, 0])
    assert set(kmer_table(model, top=2)["kmer"]) == {"ATG", "CCC"}
    found = contributions(model, ["GGGATG"]).kmers(0)
    assert dict(zip(found["kmer"], found["position"], strict=True))["ATG"] == 3
