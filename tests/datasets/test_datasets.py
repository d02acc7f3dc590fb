"""Generated data: the truth that is promised is in them."""

import os
import re

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from kernelweave import InputError, MKLClassifier, WeightedDegree
from kernelweave.datasets import (
    SPLICE_KINDS,
    SPLICE_SIGNALS,
    make_relevant,
    make_sines,
    make_splice_sites,
    make_star,
    splice_sites,
)
from kernelweave.sequences import SequenceSet

SITE = 60


@pytest.fixture(scope="module")
def windows():
    """20,000 windows, half of them sites, as letters, with labels and kinds."""
    X, y, kinds = make_splice_sites(20_000, positives=0.5, unknown=0.02, random_state=3, return_kinds=True)
    return X, y, kinds


def letters_of(X):
    return X.flat_codes().reshape(len(X), -1)


def shares(X, position):
    """How often A, C, G, T stand at a position counted from the AG."""
    return np.bincount(letters_of(X)[:, SITE + position], minlength=4) / len(X)


# -- splice sites ------------------------------------------------------------------------------------------------------


def test_windows_of_the_size_and_share_that_were_asked_for():
    X, y = make_splice_sites(50_000, window=100, positives=0.03, random_state=0)
    assert len(X) == len(y) == 50_000
    assert X.length == 100
    assert X.packed
    assert y.dtype == np.int8
    assert set(y.tolist()) == {-1, 1}
    assert (y > 0).mean() == pytest.approx(0.03, abs=4 * np.sqrt(0.03 * 0.97 / 50_000))
    assert {sequence[42:44] for sequence in X[:500]} == {"AG"}


def test_every_window_has_its_ag(windows):
    X, _, _ = windows
    assert (letters_of(X)[:, SITE : SITE + 2] == [0, 2]).all()


def test_kinds_are_as_frequent_as_promised(windows):
    _, y, kinds = windows
    assert ((kinds == 0) == (y == 1)).all()
    decoys = np.bincount(kinds[kinds > 0], minlength=7)[1:] / (kinds > 0).sum()
    np.testing.assert_allclose(decoys, np.array([0.47, 0.26, 0.23, 0.02, 0.02, 0.02]) * ([0.98] * 5 + [1]), atol=0.015)
    assert len(SPLICE_KINDS) == 7


def test_the_core_of_sites(windows):
    X, _, kinds = windows
    sites = X[kinds == 0]
    for position, letter, share in ((-3, 3, 0.95), (-4, 3, 0.89), (-1, 1, 0.84)):
        background = 0.4  # what a weak site has there, at most
        expected = 0.96 * share
        assert expected - 0.02 < shares(sites, position)[letter] < expected + 0.04 * background + 0.02
    assert shares(X[kinds == 1], -3)[3] < 0.4


def test_sites_that_nobody_knows_are_sites(windows):
    X, _, kinds = windows
    for position in (-10, -5, -3, -1, 2):
        np.testing.assert_allclose(shares(X[kinds == 6], position), shares(X[kinds == 0], position), atol=0.12)


def test_tract_and_branch_point(windows):
    X, _, kinds = windows
    first, last = SPLICE_SIGNALS["tract"]
    here = np.mean([shares(X[kinds == 0], p)[[1, 3]].sum() for p in range(first, last + 1)])
    there = np.mean([shares(X[kinds == 2], p)[[1, 3]].sum() for p in range(first, last + 1)])
    assert here > there + 0.1
    low, high = SPLICE_SIGNALS["branch point"]
    found = {k: np.mean(["CTAAC" in s[SITE + low : SITE + high + 1] for s in X[kinds == k][:3000]]) for k in (0, 1)}
    assert found[0] > 0.4 > 0.1 > found[1]


def test_exons_can_be_read():
    for sequence in make_splice_sites(300, positives=1.0, repeats=0.0, random_state=0)[0]:
        exon = sequence[SITE + 3 :]
        frames = [re.findall("...", exon[i:]) for i in range(3)]
        assert any({"TAA", "TAG", "TGA"}.isdisjoint(frame) for frame in frames)


def test_shifted_sites_are_near_by(windows):
    X, _, kinds = windows
    codes = letters_of(X[kinds == 5])
    there = [(codes[:, SITE + d - 3] == 3).mean() for d in range(-20, 21) if abs(d) > 4]
    assert np.mean(there) < 0.5, "no shift is the rule"
    best = np.array([[row[SITE + d - 4 : SITE + d + 2].tolist() for d in range(-20, 21)] for row in codes[:100]])
    assert np.mean([(best[i] == [3, 3, 3, 1, 0, 2]).all(axis=1).any() for i in range(100)]) > 0.3


def test_repeats():
    X = make_splice_sites(2000, repeats=1.0, positives=0.0, unknown=0.0, random_state=0)[0]
    plain = make_splice_sites(2000, repeats=0.0, positives=0.0, unknown=0.0, random_state=0)[0]

    def repeating(sequences):
        return np.mean([re.search(r"(.)\1{11}|(..)\2{5}|(...)\3{3}|(....)\4{2}", s) is not None for s in sequences])

    assert repeating(X) > repeating(plain) + 0.3


def test_a_window_depends_on_its_number_and_the_seed_alone(monkeypatch, tmp_path):
    X, y = make_splice_sites(700, random_state=5, positives=0.2)
    monkeypatch.setattr(splice_sites, "BLOCK", 64)
    parts, labels = make_splice_sites(700, random_state=5, positives=0.2)
    assert parts == X
    assert (labels == y).all()
    shorter, labels = make_splice_sites(100, random_state=5, positives=0.2, path=tmp_path / "s.kwseq")
    assert shorter == X[:100]
    assert (labels == y[:100]).all()
    assert make_splice_sites(100, random_state=6)[0] != X[:100]
    again = np.random.default_rng(5)
    assert make_splice_sites(700, random_state=again, positives=0.2)[0] == X


def test_written_to_a_file_with_its_labels(tmp_path):
    path = tmp_path / "sites.kwseq"
    X, y = make_splice_sites(3000, random_state=0, positives=0.1, path=path)
    assert X.path == str(path)
    assert SequenceSet.open(path) == make_splice_sites(3000, random_state=0, positives=0.1)[0]
    X.verify()
    assert (np.load(tmp_path / "sites.labels.npy") == y).all()
    assert sorted(os.listdir(tmp_path)) == ["sites.kwseq", "sites.labels.npy"]


def test_a_missing_folder_is_known_before_the_work(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        make_splice_sites(10**9, path=tmp_path / "missing" / "sites.kwseq")


def test_sites_can_be_learned_but_not_all_of_them():
    n = 4000
    X, y = make_splice_sites(n + 6000, positives=0.033, random_state=0)
    model = MKLClassifier(WeightedDegree(degree=20).normalized(), scaling=None).fit(X[:n], y[:n])
    precision = average_precision_score(y[n:], model.decision_function(X[n:]))
    assert 0.5 < precision < 0.95, "well above chance, 0.033, and not perfect"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number ≥ 1; got 0"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"window": 59}, "window must be a whole number ≥ 60"),
        ({"site": 39}, "site must be a whole number ≥ 40"),
        ({"site": 135}, "site must leave ten letters behind it in a window of 141; got 135"),
        ({"positives": 1.5}, "positives must be a probability, from 0 to 1; got 1.5"),
        ({"unknown": -0.1}, "unknown must be a probability"),
        ({"repeats": np.nan}, "repeats must be a probability"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make_splice_sites(**{"n": 10, **options})


@pytest.mark.parametrize(("window", "site"), [(60, None), (60, 50), (61, 40), (500, None), (500, 490)])
def test_any_window_that_is_large_enough(window, site):
    X, _ = make_splice_sites(3000, window=window, site=site, positives=0.3, repeats=0.5, random_state=0)
    at = max(40, 3 * window // 7) if site is None else site
    assert X.length == window
    assert (letters_of(X)[:, at : at + 2] == [0, 2]).all()


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_stars_are_one_inside_the_other():
    X, y = make_star(400, distance=3.0, noise=0.0, random_state=0)
    length = np.hypot(*X.T)
    assert X.shape == (400, 2)
    assert (y == -1).sum() == 200
    assert length[y == 1].mean() == pytest.approx(length[y == -1].mean() + 3.0, abs=0.3)
    with pytest.raises(InputError, match="depth must be"):
        make_star(10, depth=1.0)


def test_sines_are_sums_of_waves():
    X, y = make_sines(50, frequencies=[1.0, 3.0], slope=0.5, noise=0.0)
    np.testing.assert_allclose(y, np.sin(X[:, 0]) + np.sin(3 * X[:, 0]) + 0.5 * X[:, 0])


def test_irrelevant_features_do_not_matter():
    X, y = make_relevant(40, n_relevant=1, n_irrelevant=3, noise=0.0, random_state=0)
    assert X.shape == (40, 4)
    np.testing.assert_allclose(y, np.sin(np.pi * X[:, 0]))
    with pytest.raises(InputError, match="n_relevant must be"):
        make_relevant(10, n_relevant=0)
