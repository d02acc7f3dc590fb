"""The learned kernel as an object: coordinates, a consensus of views, and other people's estimators."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_wine, make_moons
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelweave import (
    RBF,
    BagOfWords,
    EmbeddingDisplay,
    GPKernel,
    InputError,
    Linear,
    LowRank,
    MKLClassifier,
    MKLRegressor,
    MultiView,
    Spectrum,
    WeaveTransformer,
)
from sklearn_checks import with_checks


@with_checks([WeaveTransformer(), WeaveTransformer(RBF() + Linear(), weights="equal")])
def test_scikit_learn_takes_it(estimator, check):
    check(estimator)


def three_views(n=40, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 2))
    views = {"one": t @ rng.normal(size=(2, 5)), "two": t**2 + t, "noise": rng.normal(size=(n, 30))}
    return views, t


KERNEL = RBF(0.1).on("one") + RBF(0.2).on("two") + RBF(0.02).on("noise")


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def test_the_consensus_is_the_leading_eigenvector_of_alignments():
    X, _ = three_views()
    woven = WeaveTransformer(KERNEL).fit(X)
    matrices = [centred(term(X)) for term in KERNEL.kernels]
    unit = [K / np.linalg.norm(K) for K in matrices]
    A = np.array([[np.sum(a * b) for b in unit] for a in unit])
    np.testing.assert_allclose(woven.alignment_, A, atol=1e-10)
    best = np.abs(np.linalg.eigh(A)[1][:, -1])
    np.testing.assert_allclose(woven.weights_, best / best.sum(), atol=1e-10)
    assert woven.weights_.argmin() == 2
    total = sum(w * K for w, K in zip(best / best.sum(), unit, strict=True))
    np.testing.assert_allclose(centred(woven.kernel_(X)), 40 * total, atol=1e-10)


@pytest.mark.parametrize("weights", ["consensus", "equal", "given"])
def test_coordinates_are_those_of_kernel_pca(weights):
    X, _ = three_views()
    new, _ = three_views(seed=1)
    woven = WeaveTransformer(KERNEL, n_components=4, weights=weights).fit(X)
    pca = KernelPCA(4, kernel="precomputed").fit(woven.kernel_(X))
    np.testing.assert_allclose(woven.eigenvalues_, pca.eigenvalues_, rtol=1e-8)
    for samples in (X, new):
        theirs = pca.transform(woven.kernel_(samples, X))
        np.testing.assert_allclose(np.abs(woven.transform(samples)), np.abs(theirs), atol=1e-8)
    np.testing.assert_allclose(woven.fit_transform(X), woven.transform(X), atol=1e-9)
    assert 0 < woven.shares_.sum() <= 1
    assert list(woven.get_feature_names_out()) == [f"weavetransformer{c}" for c in range(4)]


def test_given_weights_are_those_of_the_classifier():
    X, t = three_views()
    model = MKLClassifier(KERNEL, C=10.0).fit(X, t[:, 0] > 0)
    woven = WeaveTransformer(model.kernel_, weights="given").fit(X)
    assert woven.kernel_ == model.kernel_
    np.testing.assert_allclose(woven.kernel_(X), model.kernel_(X), rtol=1e-12)


def test_more_components_than_samples_are_zero():
    X, _ = three_views(n=5)
    found = WeaveTransformer(KERNEL, n_components=8).fit_transform(X)
    assert found.shape == (5, 8)
    assert not found[:, 4:].any()


def test_anything_can_be_explored():
    X, t = three_views(60)
    gaps = {**X, "one": np.where(np.arange(60)[:, None] % 5 == 0, np.nan, X["one"])}
    gaps["dna"] = ["".join("ACGT"[int(8 * abs(x) + i) % 4] for i in range(12)) for x in t[:, 0]]
    gaps["counts"] = sparse.random_array((60, 9), density=0.4, rng=np.random.default_rng(0), format="csr")
    woven = make_pipeline(WeaveTransformer(n_components=3), SVC()).fit(MultiView(gaps), t[:, 0] > 0)
    assert woven.score(MultiView(gaps), t[:, 0] > 0) > 0.7
    assert "if_missing" in repr(woven[0].kernel_)


# -- other people's estimators -----------------------------------------------------------------------------------------


def test_support_vector_machines_and_ridges():
    X, y = make_moons(80, noise=0.2, random_state=0)
    kernel = MKLClassifier(RBF(1.0).standardized() + Linear() + RBF(5.0)).fit(X, y).kernel_
    direct = SVC(kernel=kernel).fit(X, y)
    given = SVC(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_array_equal(direct.decision_function(X), given.decision_function(kernel(X)))
    assert cross_val_score(SVC(kernel=kernel), X, y, cv=3).mean() > 0.8
    ridge, other = KernelRidge(kernel=kernel).fit(X, y), KernelRidge(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(ridge.predict(X), other.predict(kernel(X)), rtol=1e-9)
    assert kernel(X[0], X[1]) == pytest.approx(kernel(X[:1], X[1:2])[0, 0], rel=1e-12)


def test_gaussian_processes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(60, 1))
    y = np.sin(X[:, 0])
    kernel = MKLRegressor(RBF(1.0) + Linear(), C=100.0).fit(X, y).kernel_
    process = GaussianProcessRegressor(ConstantKernel(2.0) * GPKernel(kernel) + WhiteKernel(1e-3, "fixed")).fit(X, y)
    mean, deviation = process.predict(X, return_std=True)
    assert np.abs(mean - y).max() < 0.1
    assert (deviation > 0).all()
    plain = GaussianProcessRegressor(GPKernel(kernel), alpha=1e-3).fit(X, y)
    K = kernel(X)
    np.testing.assert_allclose(plain.predict(X), K @ np.linalg.solve(K + 1e-3 * np.eye(60), y), atol=1e-8)
    words = np.array(["win a prize", "prize now", "are you home", "home now?"], dtype=object)
    found = GaussianProcessClassifier(GPKernel(BagOfWords().normalized())).fit(words, [1, 1, 0, 0])
    np.testing.assert_array_equal(found.predict(words), [1, 1, 0, 0])
    assert repr(GPKernel("RBF(0.5)")) == "GPKernel(RBF(gamma=0.5))"


def test_clustering():
    X, y = load_wine(return_X_y=True)
    kernel = WeaveTransformer(RBF(0.05).standardized() + Linear().standardized().normalized()).fit(X).kernel_
    K = kernel(X)
    labels = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(K - K.min())
    best = sum(np.bincount(labels[y == c]).max() for c in range(3))
    assert best > 0.9 * len(y)


def test_what_was_learned_survives_a_clone():
    X, y = make_moons(60, noise=0.2, random_state=0)
    for kernel in (LowRank(RBF(0.5), rank=5), RBF(0.5).if_missing("expected"), RBF(0.5).standardized()):
        gaps = np.where(np.arange(60)[:, None] == 3, np.nan, X) if "missing" in repr(kernel) else X
        learned = GPKernel(MKLClassifier(kernel).fit(gaps, y).kernel_)
        np.testing.assert_allclose(clone(learned + WhiteKernel())(gaps, gaps), learned(gaps, gaps), rtol=1e-12)


# -- pictures, and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, "classes", "numbers"])
def test_a_picture(target):
    pytest.importorskip("matplotlib").use("Agg")
    X, t = three_views()
    y = {None: None, "classes": np.where(t[:, 0] > 0, "high", "low"), "numbers": t[:, 0]}[target]
    display = EmbeddingDisplay.from_estimator(WeaveTransformer(KERNEL).fit(X), X, y)
    assert "% of the spread" in display.ax_.get_xlabel()
    assert len(display.ax_.collections) == (2 if target == "classes" else 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: WeaveTransformer(weights="best").fit([[0.0], [1.0]]), "weights of WeaveTransformer"),
        (lambda: WeaveTransformer(n_components=0).fit([[0.0], [1.0]]), "n_components must be"),
        (lambda: EmbeddingDisplay([[0.0], [1.0]]), "Two coordinates"),
        (lambda: EmbeddingDisplay([[0.0, 1.0]], target=[1, 2]), "There are 1 samples"),
        (lambda: GPKernel(3)([[1.0]]), "kernel must be a kernel"),
        (lambda: WeaveTransformer(Spectrum(k=2)).fit([[0.0], [1.0]]), "sequences"),
    ],
)
def test_errors_say_what_would_work(make, why):
    with pytest.raises(InputError, match=why):
        make()
