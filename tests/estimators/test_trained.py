"""A model knows its training samples again, whatever holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.errors import ModelFormatError
from kernelweave.estimators import trained
from kernelweave.estimators.trained import overlap, sample_hashes
from kernelweave.io.archive import read_archive, write_archive
from kernelweave.views import as_views

MASK = (1 << 64) - 1


def mixed(z):
    """The last steps of splitmix64, in plain numbers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def naive_numbers(row):
    bits = np.array(row, dtype=np.float64).view(np.uint64).tolist()
    pairs = enumerate(bits, 1)
    return sum(mixed((b + j * 0x9E3779B97F4A7C15) & MASK) for j, b in pairs if b << 1 & MASK) & MASK


def naive_letters(text):
    h = 0xCBF29CE484222325
    for letter in text.encode():
        h = (h ^ letter) * 0x100000001B3 & MASK
    return mixed(h)


def naive(*parts):
    out = 0
    for part in parts:
        out = mixed((out * 0x100000001B3 + part + 0x9E3779B97F4A7C15) & MASK)
    return out


def hashes(kernel, X):
    return sample_hashes(kernel, as_views(X)).tolist()


def numbers(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(2)
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


def letters(n=40, length=12, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), length)) for _ in range(n)]


def test_hashes_are_those_of_the_slow_twin():
    X, words = numbers(), [*letters(39), "ACGNNTACGTAC"]
    X[0, 0] = -0.0
    assert hashes(kw.RBF(), X) == [naive(naive_numbers(row)) for row in X]
    assert hashes(kw.Spectrum(3), words) == [naive(naive_letters(word)) for word in words]
    both = {"x": X, "s": words}
    twin = [naive(naive_numbers(row), naive_letters(word)) for row, word in zip(X, words, strict=True)]
    assert hashes(kw.RBF().on("x") + kw.Spectrum(3).on("s") + kw.Linear().on("x"), both) == twin


def test_containers_letters_and_layouts_do_not_matter():
    X = numbers()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kernel = kw.RBF() + kw.per_feature(kw.Linear())
    wanted = hashes(kernel, X)
    forms = [frame, pl.from_pandas(frame), np.asfortranarray(X), {"u": X[:, :1], "v": X[:, 1:2], "w": X[:, 2:]}]
    for form in (*forms, (X * 100).round().astype(int) / 100):
        assert hashes(kernel, form) == wanted
    assert hashes(kw.RBF(), sparse.csr_array(X)) == hashes(kw.RBF(), X)
    words = letters()
    wanted = hashes(kw.WeightedDegree(3), words)
    packed = as_views(words).sequences("dna").pack()
    forms = [np.array(words), pd.Series(words), [w.lower() for w in words], [w.encode() for w in words], packed]
    for form in (*forms, packed.unpack()):
        assert hashes(kw.WeightedDegree(3), form) == wanted
    assert hashes(kw.WeightedDegree(3), words[::-1]) == wanted[::-1]


def cases():
    X, words = numbers(80), letters(80)
    K = X @ X.T + np.eye(80)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "s": words})
    views = {"x": X, "s": words}
    return {
        "rows": (kw.RBF(0.5) + kw.Linear(), X, lambda rows: X[rows]),
        "sparse": (kw.Linear(), sparse.csr_array(X), lambda rows: X[rows]),
        "table": (kw.RBF(1.0).on("a") + kw.Spectrum(2).on("s"), frame, lambda rows: frame.iloc[rows]),
        "sequences": (kw.Spectrum(3), words, lambda rows: [words[i] for i in rows]),
        "views": (
            kw.RBF(1.0).on("x") + kw.WeightedDegree(3).on("s"),
            views,
            lambda rows: {"x": X[rows], "s": [words[i] for i in rows]},
        ),
        "ids": (kw.Precomputed(K, "given"), np.arange(80), lambda rows: np.asarray(rows)),
    }


@pytest.mark.parametrize("name", list(cases()))
def test_training_samples_are_known_again_after_loading(name, tmp_path):
    kernel, _, part = cases()[name]
    y = np.arange(40) % 2
    model = kw.MKLClassifier(kernel, max_iter=20, tol=0.1).fit(part(np.arange(40)), y)
    kw.save(model, tmp_path / "m.kw")
    matrices = {"given": kernel.K} if name == "ids" else None
    for one in (model, kw.load(tmp_path / "m.kw", matrices=matrices)):
        assert one.trained_.n_samples == 40
        found = overlap(one, part([3, 70, 39, 41]))
        assert found.seen.tolist() == [True, False, True, False]
        assert found.unseen.tolist() == [False, True, False, True]
        assert (found.n_seen, (found.seen | found.unseen).all()) == (2, True)


def test_samples_without_weight_were_not_trained_on():
    X = numbers()
    model = kw.MKLRegressor(kw.RBF()).fit(X, X[:, 0], sample_weight=np.arange(40) < 30)
    assert model.trained_.n_samples == 30
    assert overlap(model, X).seen.tolist() == [True] * 30 + [False] * 10


def test_many_samples_are_known_by_a_part_of_their_hashes(monkeypatch, tmp_path):
    monkeypatch.setattr(trained, "MOST", 100)
    monkeypatch.setattr("kernelweave.io.model_reader.MOST", 100)
    X = np.random.default_rng(0).normal(size=(1200, 2))
    model = kw.MKLRegressor(kw.Linear()).fit(X[:400], X[:400, 0])
    kw.save(model, tmp_path / "m.kw")
    model = kw.load(tmp_path / "m.kw")
    assert len(model.trained_.hashes) == 100
    found = overlap(model, X[:800])
    assert not (found.seen | found.unseen).all()
    assert found.seen.sum() == 100
    assert not found.seen[400:].any()
    assert not found.unseen[:400].any()
    assert 300 < found.n_seen < 500


def test_what_cannot_be_compared_is_not_known():
    X = numbers()
    model = kw.MKLRegressor(lambda A, B: A @ B.T).fit(X, X[:, 0])
    assert overlap(model, X) is None


def test_the_name_of_the_target_is_kept(tmp_path):
    X = numbers()
    model = kw.MKLRegressor(kw.Linear()).fit(X, pd.Series(X[:, 0], name="height"))
    kw.save(model, tmp_path / "m.kw")
    assert kw.load(tmp_path / "m.kw").trained_.target == "height"


@pytest.mark.parametrize(
    ("entry", "change", "message"),
    [
        ("n_samples", 3, "not trained on 3 samples"),
        ("n_distinct", 0, "0 of them distinct"),
        ("n_distinct", 30, "hashes are not those"),
        (None, lambda hashes: hashes[::-1].copy(), "do not grow"),
        (None, lambda hashes: hashes.astype(np.uint32), "hashes are not those"),
        ("target", 7, "wrong type"),
    ],
)
def test_forged_hashes_are_refused(entry, change, message, tmp_path):
    X = numbers()
    kw.save(kw.MKLRegressor(kw.Linear()).fit(X, X[:, 0]), tmp_path / "m.kw")
    with open(tmp_path / "m.kw", "rb") as file:
        manifest, arrays = read_archive(file, 1 << 30)
    if entry is None:
        arrays["trained.npy"] = change(arrays["trained.npy"])
    else:
        manifest["trained"][entry] = change
    with open(tmp_path / "forged.kw", "w+b") as file:
        write_archive(file, manifest, arrays)
    with pytest.raises(ModelFormatError, match=message):
        kw.load(tmp_path / "forged.kw")
