"""Numbers in shards: tables stay where the rows are, products and fits are those of the matrix."""

import pickle

import numpy as np
import pytest

from kernelweave import RBF, InputError, Linear, LowRank, MKLClassifier, MKLRegressor
from kernelweave.cluster import NumberShards, Serial, cut
from kernelweave.gram import DenseFeatureGram, Room
from kernelweave.gram.embedding import Embedding, Factor, Vectors
from kernelweave.gram.sharded_embedding import ShardedEmbedding
from kernelweave.kernels.low_rank import with_landmarks
from kernelweave.testing import check_gram
from kernelweave.views import as_views


@pytest.fixture(scope="module")
def matrices(tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("numbers")
    found = {}
    for name, n in (("few", 31), ("many", 4000)):
        X = rng.normal(size=(n, 4)).astype(np.float32)
        for k, part in enumerate(np.array_split(X, 3)):
            np.save(folder / f"{name}.{k}.npy", part)
        found[name] = X, NumberShards.open(str(folder / f"{name}.*.npy"), rows=max(5, n // 7)), folder
    return found


def test_they_are_one_matrix(matrices):
    X, shards, _ = matrices["few"]
    assert len(shards) == 31
    assert np.array_equal(np.asarray(shards), X)
    rows = np.array([30, 2, 11, 2])
    assert np.array_equal(shards[rows], X[rows])
    assert np.array_equal(shards[5:25], X[5:25])
    assert np.array_equal(shards[:, [2, 0]], X[:, [2, 0]])
    assert np.array_equal(shards[X[:, 0] > 0], X[X[:, 0] > 0])
    assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(shards))), X)
    assert len(pickle.dumps(shards)) < 1000
    parts = [shard.views().matrix() for shard in cut({None: shards}, 1)]
    assert np.array_equal(np.concatenate(parts), X)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Linear().on([0, 2]) + 2.0 * Linear().on(1), LowRank(RBF(0.3), rank=6) + Linear()],
    ids=repr,
)
def test_products_are_those_of_the_matrices(kernel, matrices):
    views = as_views(matrices["few"][1])
    gram = DenseFeatureGram.bound(with_landmarks(kernel, views).terms(views), views, Room(10**9))
    assert type(gram.embedding) is ShardedEmbedding
    check_gram(gram, as_views(np.random.default_rng(1).normal(size=(5, 4))))


def test_tables_that_have_no_room_are_not_kept(matrices, monkeypatch):
    from kernelweave.gram import sharded_embedding

    shards = matrices["few"][1]
    views = as_views(shards)
    embedding = DenseFeatureGram.bound(Linear().terms(views), views, Room(10**9)).embedding
    vectors = np.random.default_rng(2).normal(size=(4, 1))
    expected = embedding.times(vectors)
    assert sharded_embedding._tables
    monkeypatch.setattr(sharded_embedding, "TABLES_BYTES", 1)
    sharded_embedding._tables.clear()
    assert np.array_equal(embedding.times(vectors), expected)
    assert not sharded_embedding._tables


def test_shards_without_coefficients_are_not_asked(matrices):
    class Counting(Serial):
        asked = 0

        def map(self, task, shards, version):
            self.asked += len(shards)
            return super().map(task, shards, version)

    shards, engine = matrices["few"][1], Counting()
    views = as_views(shards)
    one = ShardedEmbedding(Linear().terms(views), views, cut({None: shards}, 1), engine)
    coef = np.zeros((31, 1))
    coef[3] = 1.0
    np.testing.assert_allclose(one.normals(coef)[:, 0], np.asarray(shards)[3])
    assert engine.asked == 1


FITS = {
    "hinge": (MKLClassifier, {"kernel": Linear()}),
    "logistic": (MKLClassifier, {"kernel": Linear(), "loss": "logistic"}),
    "squared": (MKLRegressor, {"kernel": LowRank(RBF(0.5), rank=20), "loss": "squared"}),
    "two terms": (MKLClassifier, {"kernel": Linear().on([0, 1]) + Linear().on([2, 3]), "loss": "squared_hinge"}),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_the_same_as_in_memory(name, matrices):
    X, shards, _ = matrices["many"]
    kind, given = FITS[name]
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * np.random.default_rng(2).normal(size=len(X))
    y = y if kind is MKLRegressor else y > 0
    plain = kind(C=1, tol=1e-5, **given).fit(X.astype(np.float64), y)
    found = kind(C=1, tol=1e-5, **given).fit(shards, y, engine="threads:2")
    assert found.converged_
    assert abs(found.objective_ - plain.objective_) <= (found.gap_ + plain.gap_) * plain.objective_ + 1e-9
    np.testing.assert_allclose(found.predict(shards), found.predict(X), atol=1e-9)


@pytest.mark.parametrize("share", [np.ones(31), np.linspace(0.0, 2.0, 31)], ids=["same", "others"])
@pytest.mark.parametrize("kind", ["double", "single", "shards", "factor"])
def test_moments_are_the_sums_that_they_say(matrices, share, kind):
    X, shards, _ = matrices["few"]
    terms, slope = (Linear().on([0, 2]), 2.0 * Linear()), np.random.default_rng(1).normal(size=31)
    views, roots = as_views(X), np.sqrt([1.0, 1.0, 3.0, 3.0, 3.0, 3.0])
    if kind == "shards":
        embedding = ShardedEmbedding(terms, as_views(shards), cut({None: shards}, 1), Serial())
    else:
        embedding = Embedding(terms, views, np.float32 if kind == "single" else np.float64)
    table = np.hstack([np.sqrt(2.0) ** k * A for k, A in enumerate((X[:, [0, 2]], X))]).astype(np.float64)
    Z = (table - embedding.middle) * roots
    vectors = Vectors(embedding, roots)
    if kind == "factor":
        vectors = Factor(Z)
    found, rtol = vectors.moments(slope, share), 1e-6 if kind == "single" else 1e-12
    for one, wanted in zip(found, (Z.T @ slope, Z.T @ share, Z.T @ (share[:, None] * Z)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=rtol, atol=100 * rtol)


def test_rows_that_were_changed_are_refused(matrices, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((6, 2), np.float32))
    first, *_ = cut({None: NumberShards.open(tmp_path / "x.npy")}, 1)
    np.save(tmp_path / "x.npy", np.ones((6, 2), np.float32))
    with pytest.raises(InputError, match=r"Rows 0 to 5 of .*x\.npy' are not those that were described"):
        first.views()


def test_what_is_no_shard_of_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.save(tmp_path / "b.npy", np.zeros((3, 3)))
    np.save(tmp_path / "c.npy", np.zeros(3))
    (tmp_path / "d.npy").write_text("text")
    for pattern, message in (
        ("[ab].npy", "the same columns"),
        ("c.npy", "a matrix of floats"),
        ("d.npy", "no .npy file"),
        ("*.csv", "No file is called"),
    ):
        with pytest.raises(InputError, match=message):
            NumberShards.open(str(tmp_path / pattern))
    with pytest.raises(InputError, match="There are no shards"):
        NumberShards([])
