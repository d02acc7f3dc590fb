"""Two-stage MKL: the first stage against dense references, and a certificate for the second."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from kernelweave import (
    RBF,
    DataWarning,
    Fixed,
    InputError,
    Laplacian,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    PreClustering,
    Precomputed,
    Spectrum,
)
from kernelweave.dual import Machine
from kernelweave.gram import CachedGram, DenseGram, StackedGram, StreamedGram
from kernelweave.losses import Hinge, Squared
from kernelweave.mkl import Problem, TwoStage, choose, run
from kernelweave.mkl.alignment import Pairs
from kernelweave.mkl.leave_one_out import left_out_squares, missed
from kernelweave.mkl.two_stage import CANDIDATES, METHODS, gcv_ridge
from kernelweave.norms import LpNorm, Simplex
from kernelweave.testing.kernels import variances
from kernelweave.views import as_views

TERMS = [RBF(0.3), Linear(), RBF(2.0).on(0), Laplacian(0.5)]


def problem_of(n=25, seed=0, loss=None, norm=None, kind=DenseGram):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 1.0
    if isinstance(loss, Hinge):
        y = np.where(y > 1.3, 1.0, -1.0)
    views = as_views(X)
    gram = DenseGram.compute(TERMS, views) if kind is DenseGram else kind(TERMS, views)
    return Problem(gram, [Machine(loss or Squared(), y, np.ones(n))], norm or Simplex(), tol=1e-6)


def dense_reference(problem, centred, diagonal, ridge):
    """Non-negative least squares on every pair, written out."""
    n, y = problem.gram.n, problem.machines[0].y
    P = np.eye(n) - (1.0 / n if centred else 0.0)
    Ks = [P @ term.compute(problem.gram.X, None) @ P for term in problem.gram.terms]
    keep = np.ones((n, n), bool) if diagonal else ~np.eye(n, dtype=bool)
    Z = np.column_stack([K[keep] for K in Ks])
    t = (P @ np.outer(y, y) @ P)[keep]
    penalty = np.sqrt(ridge * np.linalg.eigvalsh(Z.T @ Z)[-1]) * np.eye(len(Ks))
    return nnls(np.vstack([Z, penalty]), np.concatenate([t, np.zeros(len(Ks))]))[0]


# --- stage one ---


@pytest.mark.parametrize("seed", range(3))
def test_left_out_samples_are_missed_as_by_fitting_without_them(seed):
    problem = problem_of(n=20, seed=seed)
    rng = np.random.default_rng(seed)
    K, y = problem.gram.block(np.arange(20), np.arange(20), rng.random(4)), problem.machines[0].y
    ridge = rng.uniform(0.1, 2.0, 20)
    for i, off in enumerate(missed(K, y, ridge)):
        rest = np.delete(np.arange(20), i)
        system = np.block([[K[np.ix_(rest, rest)] + np.diag(ridge[rest]), np.ones((19, 1))], [np.ones((1, 19)), 0.0]])
        solution = np.linalg.solve(system, np.append(y[rest], 0.0))
        assert off == pytest.approx(y[i] - K[i, rest] @ solution[:-1] - solution[-1])


def quick_and_slow(n=150):
    """A target that changes quickly along one column and slowly along the other: only near pairs tell."""
    X = np.random.default_rng(0).uniform(0, 10, (n, 2))
    kernels = [RBF(0.01), RBF(1.0), RBF(100.0).on(0), RBF(0.1).on(1), Linear()]
    gram = DenseGram.compute(kernels, as_views(X))
    machine = Machine(Squared(), np.sin(12.0 * X[:, 0]) + X[:, 1], np.full(n, 1e4))
    return Problem(gram.rescaled(1.0 / variances(gram)), [machine], Simplex())


@pytest.mark.parametrize(
    ("problem", "expected"),
    [(problem_of(n=80), None), (problem_of(n=80, loss=Hinge()), None), (quick_and_slow(), "differences")],
    ids=["smooth", "labels", "quick"],
)
def test_auto_takes_the_first_stage_that_misses_least(problem, expected):
    stages = [TwoStage(method, power=power).first_stage(problem) for method, power in CANDIDATES]
    errors = np.array([left_out_squares(problem, stage.weights) for stage in stages])
    best = int(np.argmin(errors.mean(axis=1)))
    gain = errors[0] - errors[best]
    best = best if gain.mean() > gain.std() / np.sqrt(len(gain)) else 0
    auto = TwoStage("auto").first_stage(problem)
    np.testing.assert_allclose(auto.weights, stages[best].weights)
    assert auto.method == CANDIDATES[best][0] == (expected or auto.method)


def test_auto_says_what_it_took_and_leaves_out_a_part_of_many(monkeypatch):
    problem = problem_of(n=60)
    X, y = problem.gram.X.matrix(), problem.machines[0].y
    model = MKLRegressor(RBF(0.3) + Linear(), loss="squared", solver=TwoStage("auto")).fit(X, y)
    assert model.alignment_["method"] in [method for method, _ in CANDIDATES]
    monkeypatch.setattr("kernelweave.mkl.leave_one_out.MAX_SAMPLES", 25)
    assert left_out_squares(problem, np.full(4, 0.25)).shape == (25,)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("target", ["product", "centred"])
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.1])
def test_weights_equal_dense_least_squares_on_all_pairs(target, diagonal, ridge):
    for seed in range(5):
        problem = problem_of(seed=seed)
        stage = TwoStage(target=target, diagonal=diagonal, ridge=ridge).first_stage(problem)
        best = dense_reference(problem, target == "centred", diagonal, ridge)
        np.testing.assert_allclose(stage.weights, best / best.sum(), atol=1e-8)


@given(st.integers(0, 2**20), st.booleans(), st.booleans(), st.integers(1, 40))
@settings(max_examples=25)
def test_products_do_not_depend_on_blocks_or_grams(seed, centred, diagonal, block):
    rng = np.random.default_rng(seed)
    problem = problem_of(n=17, seed=seed)
    some = np.sort(rng.permutation(17)[: rng.integers(2, 18)])
    share, Y = rng.uniform(0.2, 3.0, len(some)), rng.normal(size=(len(some), 2))
    scaled = problem.gram.rescaled(rng.uniform(0.5, 2.0, len(TERMS)))
    factors = scaled.factors
    p = share / share.mean()
    P = np.eye(len(some)) - (np.outer(np.ones(len(some)), p / p.sum()) if centred else 0.0)
    Ks = [P @ (f * term.compute(problem.gram.X.rows(some), None)) @ P.T for f, term in zip(factors, TERMS, strict=True)]
    T = P @ Y @ Y.T @ P.T
    pair = np.outer(p, p) * (1.0 if diagonal else 1.0 - np.eye(len(some)))
    G = [[(pair * A * B).sum() for A in Ks] for B in Ks]
    streamed = StreamedGram(TERMS, problem.gram.X).rescaled(factors)
    cached = CachedGram(TERMS, problem.gram.X).rescaled(factors)
    stacked = StackedGram([scaled.only([0, 1]), streamed.only([2, 3])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelweave.mkl.alignment.BLOCK_BYTES", 8 * len(TERMS) * 17 * block)
        patch.setattr("kernelweave.mkl.alignment.HELD_BYTES", 8 * len(TERMS) * 17 * block)
        patch.setattr("kernelweave.mkl.alignment.CACHE_BYTES", 8 * len(TERMS) * 5 * block)
        for gram in (scaled, streamed, cached, stacked):
            moments = Pairs(gram, some, share, Y, centred, diagonal).moments()
            np.testing.assert_allclose(moments.G, G, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(moments.h, [(pair * K * T).sum() for K in Ks], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(moments.tt, (pair * T * T).sum(), rtol=1e-9, atol=1e-9)
            w = np.arange(1.0, 5.0)
            K = sum(a * b for a, b in zip(w, Ks, strict=True))
            cosine = (pair * K * T).sum() / np.sqrt((pair * K * K).sum() * (pair * T * T).sum() + 1e-300)
            assert moments.alignment(w) == pytest.approx(cosine, abs=1e-7)
            assert moments.each()[1] == pytest.approx(moments.alignment(np.eye(4)[1]))


def dense_differences(problem, some, share, Y, weights):
    """The normal equations of the differences of targets, pair by pair."""
    Ks = [f * t.compute(problem.gram.X, None) for f, t in zip(problem.gram.factors, problem.gram.terms, strict=True)]
    G, h = np.zeros((len(Ks) + 1, len(Ks) + 1)), np.zeros(len(Ks) + 1)
    for a, i in enumerate(some):
        for b, j in enumerate(some):
            if a != b:
                d = np.array([*((K[i, i] + K[j, j]) / 2 - K[i, j] for K in Ks), 1.0])
                count = share[a] * share[b] / share.mean() ** 2 / (weights @ d)
                G += count * np.outer(d, d)
                h += count * d * ((Y[a] - Y[b]) ** 2).sum() / 2
    return G, h


@given(st.integers(0, 2**20), st.integers(1, 40))
@settings(max_examples=15)
def test_differences_equal_their_sum_over_pairs(seed, block):
    rng = np.random.default_rng(seed)
    problem = problem_of(n=15, seed=seed)
    problem = replace(problem, gram=problem.gram.rescaled(rng.uniform(0.5, 2.0, len(TERMS))))
    some = np.sort(rng.permutation(15)[: rng.integers(2, 16)])
    share, Y, weights = rng.uniform(0.2, 3.0, len(some)), rng.normal(size=(len(some), 2)), rng.uniform(0.1, 1.0, 5)
    G, h = dense_differences(problem, some, share, Y, weights)
    streamed = StreamedGram(TERMS, problem.gram.X).rescaled(problem.gram.factors)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("BLOCK_BYTES", "HELD_BYTES"):
            patch.setattr(f"kernelweave.mkl.alignment.{name}", 8 * len(TERMS) * 15 * block)
        patch.setattr("kernelweave.mkl.alignment.CACHE_BYTES", 8 * len(TERMS) * 5 * block)
        for gram in (problem.gram, streamed):
            pairs = Pairs(gram, some, share, Y)
            found = pairs.differences(weights)
            np.testing.assert_allclose(found[0], G, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found[1], h, rtol=1e-9, atol=1e-9)
            p = share / share.sum()
            assert pairs.spread() == pytest.approx((p[:, None] * (Y - p @ Y) ** 2).sum())


@pytest.mark.parametrize("ridge", [None, 1e-3, 0.1])
def test_weights_by_differences_equal_dense_least_squares(ridge):
    for seed in range(4):
        problem = problem_of(seed=seed)
        y = problem.machines[0].y
        w = np.full(5, y.var() / 5)
        for _ in range(2):
            G, h = dense_differences(problem, np.arange(25), np.ones(25), y[:, None], w)
            root = np.linalg.cholesky(G + max(ridge or 0.0, 1e-12) * np.linalg.eigvalsh(G)[-1] * np.eye(5)).T
            w = nnls(root, np.linalg.solve(root.T, h))[0]
            w[-1] = max(w[-1], 1e-6 * y.var())
        stage = TwoStage("differences", ridge=ridge).first_stage(problem)
        np.testing.assert_allclose(stage.weights, w[:-1] / w[:-1].sum(), atol=1e-7)


@given(st.integers(0, 2**20), st.floats(0.01, 100.0), st.floats(-50.0, 50.0))
@settings(max_examples=15)
def test_differences_feel_neither_units_nor_means(seed, unit, mean):
    problem = problem_of(seed=seed)
    other = replace(problem, machines=[Machine(Squared(), unit * problem.machines[0].y + mean, np.ones(25))])
    a, b = (TwoStage("differences").first_stage(p).weights for p in (problem, other))
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_differences_find_a_narrow_kernel():
    """A quickly changing target: few pairs are near, and they decide."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (300, 1))
    y = np.sin(12.0 * X[:, 0])
    kernel, new = RBF(0.01) + RBF(1.0) + RBF(100.0), rng.uniform(0, 10, (200, 1))
    model = MKLRegressor(kernel, loss="squared", C=1e4, solver=TwoStage("differences")).fit(X, y)
    assert model.weights_.argmax() == 2
    assert model.score(new, np.sin(12.0 * new[:, 0])) > 0.9


def test_memory_does_not_grow_with_the_pairs():
    X = as_views(np.random.default_rng(0).normal(size=(1500, 2)))
    stacks = [RBF(g).compute(X, None) for g in (0.1, 1.0)]
    gram = DenseGram([RBF()] * 42, X, stacks, [(m % 2, 0) for m in range(42)])
    problem = Problem(gram, [Machine(Squared(), np.sin(X.matrix()[:, 0]), np.ones(1500))], Simplex())
    TwoStage().first_stage(problem_of())
    tracemalloc.start()
    TwoStage().first_stage(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6, "all pairs of all terms would take 756 MB"


def test_joint_alignment_is_the_greatest_alignment():
    problem = problem_of(n=40)
    stage = TwoStage("joint_alignment").first_stage(problem)
    after = stage.moments.alignment(stage.weights)
    found = minimize(lambda w: -stage.moments.alignment(w), np.ones(4), bounds=[(0, None)] * 4, method="L-BFGS-B")
    assert after == pytest.approx(-found.fun, abs=1e-6)
    for method in METHODS[:2]:
        other = TwoStage(method).first_stage(problem)
        assert other.moments.alignment(other.weights) <= after + 1e-12


def test_independent_alignment_is_the_cosine():
    problem = problem_of()
    stage = TwoStage("alignment", diagonal=True).first_stage(problem)
    n, y = problem.gram.n, problem.machines[0].y
    P = np.eye(n) - 1.0 / n
    T = P @ np.outer(y, y) @ P
    Ks = [P @ term.compute(problem.gram.X, None) @ P for term in TERMS]
    cosines = np.maximum([(K * T).sum() / np.linalg.norm(K) / np.linalg.norm(T) for K in Ks], 0.0)
    np.testing.assert_allclose(stage.weights, cosines / cosines.sum(), rtol=1e-9)


def test_a_power_makes_the_best_terms_louder():
    problem = problem_of()
    plain, third = (TwoStage("alignment", power=p).first_stage(problem).weights for p in (1.0, 3.0))
    np.testing.assert_allclose(third, plain**3 / (plain**3).sum(), rtol=1e-9)
    assert TwoStage("alignment", power=1000.0).first_stage(problem).weights.max() == pytest.approx(1.0)


def test_generalised_cross_validation():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 5)) * [3, 1, 1, 0.1, 0.1]
    t = Z[:, 0] + rng.normal(size=60)
    values, V = np.linalg.eigh(Z.T @ Z)
    ridge = gcv_ridge(values, V.T @ Z.T @ t, t @ t, 60)

    def score(lam):
        H = Z @ np.linalg.solve(Z.T @ Z + lam * np.eye(5), Z.T)
        return ((t - H @ t) ** 2).sum() / (1 - np.trace(H) / 60) ** 2

    assert score(ridge) <= min(score(ridge * f) for f in (0.3, 0.7, 1.5, 3.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", ["centred", "product", "balanced"])
def test_the_telling_term_is_found(method, target):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 6)), np.repeat([-1.0, 1.0], [80, 40])
    X[:, 0] += 2.0 * y
    kernel = sum(RBF(0.5).on(c) for c in range(6))
    model = MKLClassifier(kernel, solver=TwoStage(method, target)).fit(X, y)
    assert model.weights_.argmax() == 0
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.alignment_["terms"].argmax() == 0
    assert model.alignment_["after"] > model.alignment_["before"]
    assert model.score(X, y) > 0.9
    again = MKLClassifier(kernel, solver=TwoStage(method, target)).fit(X, y)
    np.testing.assert_array_equal(model.weights_, again.weights_)


@pytest.mark.parametrize("target", ["centred", "product", "balanced"])
def test_many_classes(target):
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], [60, 30, 20])
    X = rng.normal(size=(110, 5))
    X[:, 0] += 3.0 * codes
    X -= X.mean(axis=0)  # so that plain products tell the classes apart, too
    kernel = sum(Linear().on(c) for c in range(5))
    for method in ("ridge", "pairs"):
        model = MKLClassifier(kernel, solver=TwoStage(method, target)).fit(X, np.array(["a", "b", "c"])[codes])
        assert model.weights_.argmax() == 0
    each = MKLClassifier(kernel, solver=TwoStage(target=target), weights="per_class").fit(X, codes)
    assert each.weights_.shape == (3, 5)
    assert len(each.alignment_) == 3


def test_many_classes_mean_the_indicator_kernel():
    codes = np.arange(30) % 3
    machines = [Machine(Squared(), np.where(codes == c, 1.0, -1.0), np.ones(30)) for c in range(3)]
    problem = replace(problem_of(n=30), machines=machines)
    pairs = Pairs(problem.gram, *TwoStage(target="product")._samples_and_targets(problem), centred=False)
    np.testing.assert_allclose(pairs.target(np.arange(30), np.arange(30)), codes[:, None] == codes, atol=1e-12)


def test_a_weight_of_two_is_being_there_twice():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    weight = np.ones(40)
    weight[:15] = 2.0
    twice = np.concatenate([np.arange(40), np.arange(15)])
    kernel, solver = RBF(0.3) + Linear() + RBF(2.0).on(0), TwoStage(diagonal=True, ridge=0.01)
    model = MKLRegressor(kernel, loss="squared", solver=solver).fit(X, y, sample_weight=weight)
    other = MKLRegressor(kernel, loss="squared", solver=solver).fit(X[twice], y[twice])
    np.testing.assert_allclose(model.weights_, other.weights_, atol=1e-8)


def test_compression_of_exact_copies_changes_nothing():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 3)), 4, axis=0)
    y = np.sin(X[:, 0])
    kernel = RBF(0.3) + Linear() + RBF(2.0).on(0)
    whole = TwoStage(diagonal=True, ridge=0.01)
    small = TwoStage(diagonal=True, ridge=0.01, compress=PreClustering(1e-9, 1e-9))
    a = MKLRegressor(kernel, loss="squared", solver=whole).fit(X, y)
    b = MKLRegressor(kernel, loss="squared", solver=small).fit(X, y)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-8)
    assert (a.alignment_["n_points"], b.alignment_["n_points"]) == (120, 30)


def test_strings_are_compressed_by_a_kernel():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(30)] * 2
    y = np.array([x.count("A") for x in X]) > 4
    kernel = Spectrum(k=1) + Spectrum(k=3)
    with pytest.raises(InputError, match=r"PreClustering\(epsilon, kernel=\.\.\.\)"):
        MKLClassifier(kernel, solver=TwoStage(compress=PreClustering(0.0))).fit(X, y)
    solver = TwoStage(compress=PreClustering(0.0, 1e-6, kernel=Spectrum(k=3)))
    assert MKLClassifier(kernel, solver=solver).fit(X, y).alignment_["n_points"] == 30


# --- the lemma of the paper ---


def test_the_ideal_kernel_predicts_perfectly():
    """With the kernel y y' and ridge λ, v_pred = v · (y'y/λ) / (1 + y'y/λ), which tends to v."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    y[:40] -= y[:40].mean()  # so that the machine's own intercept has nothing to do
    kernel, ids, off = Precomputed(np.outer(y, y), name="ideal"), np.arange(60), []
    for ridge in (1.0, 1e-2, 1e-4, 1e-6):
        model = MKLRegressor(kernel, loss="squared", norm="fixed", scaling=None, C=0.5 / ridge).fit(ids[:40], y[:40])
        size = y[:40] @ y[:40] / ridge
        np.testing.assert_allclose(model.predict(ids), y * size / (1 + size), rtol=1e-6, atol=1e-9)
        off.append(np.abs(model.predict(ids) - y).max())
    assert np.all(np.diff(off) < 0)
    assert off[-1] < 1e-6


def test_the_ideal_kernel_gets_all_the_weight():
    rng = np.random.default_rng(0)
    y, A = rng.normal(size=50), rng.normal(size=(50, 50))
    kernel = Precomputed(A @ A.T, name="noise") + Precomputed(np.outer(y, y), name="ideal")
    model = MKLRegressor(kernel, loss="squared", solver=TwoStage(ridge=0.0), C=1e6).fit(np.arange(50), y)
    assert model.weights_[1] == pytest.approx(1.0, abs=1e-6)
    assert model.alignment_["after"] == pytest.approx(1.0, abs=1e-6)


# --- stage two and its certificate ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("norm", [Simplex(), LpNorm(2.0)])
def test_bounds_of_the_whole_problem_hold(method, norm):
    for seed in range(3):
        result = run(TwoStage(method), problem_of(seed=seed, loss=Hinge(), norm=norm))
        problem = problem_of(seed=seed, loss=Hinge(), norm=norm)
        best = run(choose(problem), problem)
        assert result.lower <= best.upper * (1 + 1e-9)
        assert result.upper >= best.lower * (1 - 1e-9)
        assert result.gap >= best.gap


@pytest.mark.parametrize("norm", [1, 2])
def test_the_gap_is_that_of_the_machine_at_these_weights(norm):
    problem = problem_of(n=60)
    X, y = problem.gram.X.matrix(), problem.machines[0].y
    kernel = RBF(0.3) + Linear() + RBF(2.0).on(0) + Laplacian(0.5)
    model = MKLRegressor(kernel, loss="squared", solver="two_stage", norm=norm, tol=1e-6).fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-6
    assert model.solver_ == "two_stage"
    assert (model.weights_**norm).sum() == pytest.approx(1.0)
    same = MKLRegressor(kernel, loss="squared", norm=Fixed(model.weights_), tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-6)
    assert same.alignment_ is None
    best = MKLRegressor(kernel, loss="squared", norm=norm, tol=1e-6).fit(X, y)
    assert model.objective_ >= best.lower_bound_, "no weights beat the optimum over all of them"


def test_without_an_estimator_the_bounds_are_of_all_weights():
    result = run(TwoStage(), problem_of(n=60))
    assert result.stop_reason == "stalled"
    assert result.gap > 1e-4
    assert run(TwoStage(), problem_of(n=60, norm=LpNorm(2.0))).step.weights @ np.ones(4) > 1.0


def test_other_losses_and_one_term():
    problem = problem_of(n=60)
    X, y = problem.gram.X.matrix(), problem.machines[0].y
    assert MKLRegressor(RBF(0.3) + Linear(), solver="two_stage").fit(X, y).converged_
    assert MKLRegressor(RBF(0.3), solver=TwoStage()).fit(X, y).converged_
    assert MKLRegressor(RBF(0.3), solver="two_stage").fit(X, y).alignment_ is None
    for loss in ("hinge", "logistic", "squared"):
        assert MKLClassifier(RBF(0.3) + Linear(), solver="two_stage", loss=loss).fit(X, y > 1).converged_


def test_nothing_aligned_is_said():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    y -= y.mean()
    U = np.linalg.svd(np.column_stack([y, np.ones(40)]))[0]
    kernel = Precomputed(U[:, 2:12] @ U[:, 2:12].T, name="a") + Precomputed(U[:, 12:30] @ U[:, 12:30].T, name="b")
    with pytest.warns(DataWarning, match="no term is aligned"):
        model = MKLRegressor(kernel, loss="squared", solver=TwoStage(diagonal=True)).fit(np.arange(40), y)
    np.testing.assert_allclose(model.weights_, 0.5)
    assert any("no term is aligned" in note for note in model.notes_)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "pairs"])
def test_targets_that_are_all_the_same_and_indefinite_terms(method):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(30, 2)), rng.normal(size=(30, 30))
    with pytest.warns(DataWarning, match="no term is aligned"):
        model = MKLRegressor(RBF(0.3) + Linear(), loss="squared", solver=TwoStage(method)).fit(X, np.ones(30))
    np.testing.assert_allclose(model.weights_, 0.5)
    K = X @ X.T + 0.1 * (A + A.T)
    kernel = Precomputed(K, name="skewed", psd="ignore") + Precomputed(X @ X.T, name="plain")
    model = MKLRegressor(kernel, loss="squared", C=0.1, solver=TwoStage(method)).fit(np.arange(30), X[:, 0])
    assert np.isfinite(model.weights_).all()


def test_wrong_options_are_explained():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    kernel = RBF(0.3) + Linear()
    for solver, message in [
        (TwoStage("boosting"), "method of TwoStage must be one of"),
        (TwoStage(target="squared"), "target of TwoStage must be one of"),
        (TwoStage(ridge=-1.0), "ridge of TwoStage must be a finite number ≥ 0"),
        (TwoStage(ridge="big"), "ridge of TwoStage"),
        (TwoStage(n_epochs=0), "n_epochs of TwoStage"),
        (TwoStage("alignment", power=0.0), "power of TwoStage must be a finite number > 0"),
        (TwoStage("alignment", power="four"), "power of TwoStage"),
        (TwoStage(target="balanced"), "is for class labels"),
        (TwoStage("pairs"), "is for class labels"),
    ]:
        with pytest.raises(InputError, match=message):
            MKLRegressor(kernel, solver=solver).fit(X, y)
    with pytest.raises(InputError, match="cannot learn C"):
        MKLRegressor(kernel, loss="squared", solver="two_stage", learn_C=True).fit(X, y)
    with pytest.raises(InputError, match="one-class has none"):
        MKLOneClass(kernel, solver="two_stage").fit(X)
