"""Motif matrices around words and positions, and the file that motif tools read."""

import numpy as np
import pytest

from kernelweave import InputError, MKLClassifier, Spectrum, WeightedDegree
from kernelweave.datasets import make_motifs
from kernelweave.explain import Motif, motif, to_meme


def read_meme(path):
    """{name: matrix}, the alphabet and the background of a file in MEME's minimal format."""
    words = path.read_text().split("MOTIF ")
    head = words[0].split()
    alphabet = head[head.index("ALPHABET=") + 1]
    background = dict(zip(head[-2 * len(alphabet) :: 2], map(float, head[-2 * len(alphabet) + 1 :: 2]), strict=True))
    found = {}
    for block in words[1:]:
        name, _, _, _, n_letters, _, width, *rest = block.replace("letter-probability matrix:", "m m").split()
        rest = rest[2:] if rest[0] == "nsites=" else rest
        found[name] = np.array(list(map(float, rest))).reshape(int(width), int(n_letters))
    return found, alphabet, background


@pytest.fixture(scope="module")
def machine():
    X, y = make_motifs(600, noise=2, positives=0.3, random_state=0)
    return X, MKLClassifier(WeightedDegree(degree=8).normalized(), norm="fixed").fit(X, y)


def test_letters_around_a_word(machine):
    X, model = machine
    found = motif(model, "ATT", 11, flank=2)
    sums = np.zeros((7, 4))
    n_sites = 0
    for q, c in zip(model.support_, model.dual_coef_[0], strict=True):
        if c > 0 and X[q][11:14] == "ATT":
            n_sites += 1
            for i in range(7):
                sums[i, "ACGT".index(X[q][9 + i])] += c
    np.testing.assert_allclose(found.matrix, sums / sums.sum(axis=1, keepdims=True), atol=1e-12)
    assert found.n_sites == n_sites
    assert found.name == "ATT_11"
    assert found.consensus[1:6] == "GATTA"


def test_letters_around_a_position(machine):
    _, model = machine
    positive = motif(model, position=13, flank=3)
    assert positive.consensus == "GATTACA"
    assert positive.matrix.shape == (7, 4)
    negative = motif(model, position=13, flank=3, sign=-1)
    assert positive.matrix.max() > negative.matrix.max() + 0.2


def test_flanks_end_where_sequences_end(machine):
    _, model = machine
    assert motif(model, position=1, flank=4).matrix.shape == (6, 4)


def test_words_anywhere_and_with_gaps():
    X, y = make_motifs(300, motifs=["GATTACA"], positions=[10], positives=0.5, random_state=0)
    model = MKLClassifier(Spectrum(k=4)).fit(X, y)
    assert motif(model, "ATTA", flank=1).consensus == "GATTAC"
    assert motif(model, "A..A", flank=0, pseudocount=1.0).matrix[[0, 3], 0].min() > 0.5
    even = motif(model, "GATTACA", flank=0, pseudocount=1e9).matrix
    np.testing.assert_allclose(even, 0.25, atol=1e-6)


def test_shifted_words_are_near_their_position():
    X = ["ACGTACGTAC", "AACGTACGTA", "TTTTTTTTTT", "CCCCCCCCCC"]
    model = MKLClassifier(WeightedDegree(degree=3, shift=1)).fit(X, [1, 1, 0, 0])
    assert motif(model, "CGT", 1, flank=0).n_sites == 2
    strict = MKLClassifier(WeightedDegree(degree=3)).fit(X, [1, 1, 0, 0])
    assert motif(strict, "CGT", 1, flank=0).n_sites == 1


def test_file(tmp_path, machine):
    _, model = machine
    found = [motif(model, "ATT", 11), motif(model, position=33)]
    to_meme(tmp_path / "motifs.meme", found, background=[0.3, 0.2, 0.2, 0.3])
    kept, alphabet, background = read_meme(tmp_path / "motifs.meme")
    assert alphabet == "ACGT"
    assert background == {"A": 0.3, "C": 0.2, "G": 0.2, "T": 0.3}
    assert list(kept) == ["ATT_11", "33"]
    for one in found:
        np.testing.assert_allclose(kept[one.name], one.matrix, atol=1e-6)
    assert (tmp_path / "motifs.meme").read_text().startswith("MEME version 4\n")
    to_meme(tmp_path / "plain.meme", [np.eye(20)], letters="ACDEFGHIKLMNPQRSTVWY")
    kept, alphabet, background = read_meme(tmp_path / "plain.meme")
    np.testing.assert_array_equal(kept["motif_1"], np.eye(20))
    assert background["W"] == 0.05


@pytest.mark.parametrize(
    ("given", "options", "match"),
    [
        ([], {}, "no motifs"),
        ([np.ones((3, 4))], {}, "add up to 1"),
        ([np.eye(4)[:, :3]], {}, "places, 4"),
        ([np.eye(4)], {"names": ["two words"]}, "without spaces"),
        ([np.eye(4)], {"names": ["a", "b"]}, "one name per motif"),
        ([np.eye(4)], {"background": [1.0, 1.0, 1.0, 1.0]}, "4 probabilities"),
        ([np.eye(3)], {"letters": "XYZ"}, "DNA, RNA and protein"),
        ([Motif(np.eye(4), "ACGU", "rna", 1), Motif(np.eye(4), "ACGT", "dna", 1)], {}, "'ACGU'"),
    ],
)
def test_files_that_nobody_could_read_are_refused(tmp_path, given, options, match):
    with pytest.raises(InputError, match=match):
        to_meme(tmp_path / "motifs.meme", given, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "a word, a position, or both"),
        ({"kmer": "GATTACAGATTACA", "position": 10}, "has the word"),
        ({"kmer": "..."}, "letters of DNA"),
        ({"kmer": "GNT"}, "letters of DNA"),
        ({"position": 99}, "has letters there"),
        ({"position": 3, "sign": 0}, "sign must be"),
    ],
)
def test_errors_teach(machine, given, match):
    with pytest.raises(InputError, match=match):
        motif(machine[1], **given)
