"""Generated sequences: the motifs are where they should be."""

import numpy as np
import pytest

from kernelweave import InputError
from kernelweave.datasets import make_motifs, make_shifted_motif


def test_motifs_are_planted():
    X, y = make_motifs(1100, random_state=0)
    assert len(X) == len(y) == 1100
    assert (y == 1).sum() == 100
    assert all(x[10:17] == "GATTACA" and x[30:37] == "AGTAGTG" for x, label in zip(X, y, strict=True) if label == 1)
    others = np.array([list(x) for x, label in zip(X, y, strict=True) if label == -1])
    shares = [(others == c).mean() for c in "ACGT"]
    np.testing.assert_allclose(shares, 0.25, atol=0.01)
    assert not (np.diff(y) == 0).all()


@pytest.mark.parametrize("noise", [2, 5])
def test_noise_counts_letters(noise):
    X, y = make_motifs(600, noise=noise, positives=1.0, random_state=1)
    wrong = np.array([sum(a != b for a, b in zip(x[10:17], "GATTACA", strict=True)) for x in X])
    assert wrong.max() <= noise
    assert wrong.mean() == pytest.approx(0.75 * noise, abs=0.15)  # a drawn letter is the old one in one case of four
    assert (y == 1).all()


def test_shifted_motif():
    X, y = make_shifted_motif(1000, random_state=0)
    assert (y == 1).sum() == 500
    letters = np.array([list(x) for x in X])
    assert not (np.delete(letters, np.arange(49, 68), axis=1) == "A").any()
    assert ((letters == "A").sum(axis=1) == 3).all()
    places = np.array([x.find("AAA") for x in X])
    assert set(places[y == 1]) == set(range(49, 66))
    assert (places[y == -1] >= 0).mean() < 0.05
    counts = [(letters == c).mean() for c in "CGT"]
    np.testing.assert_allclose(counts / np.sum(counts), [0.5, 0.25, 0.25], atol=0.01)


def test_same_seed_same_sequences():
    assert make_motifs(20, noise=2, random_state=3)[0] == make_motifs(20, noise=2, random_state=3)[0]
    assert make_shifted_motif(20, random_state=3)[0] == make_shifted_motif(20, random_state=3)[0]


@pytest.mark.parametrize(
    ("work", "match"),
    [
        (lambda: make_motifs(1), "n must be"),
        (lambda: make_motifs(10, positions=[1]), "needs a position"),
        (lambda: make_motifs(10, motifs=["GAX"], positions=[1]), "letters ACGT"),
        (lambda: make_motifs(10, positions=[10, 44]), "does not fit"),
        (lambda: make_motifs(10, noise=8), "noise counts"),
        (lambda: make_motifs(10, positives=2.0), "positives"),
        (lambda: make_shifted_motif(10, length=50), "region must"),
        (lambda: make_shifted_motif(10, region=(5, 6)), "does not fit"),
    ],
)
def test_errors_teach(work, match):
    with pytest.raises(InputError, match=match):
        work()
