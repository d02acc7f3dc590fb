"""No false certificate: what was solved is what is kept, and no lower bound lies above an optimum."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, Precomputed, load, per_feature, save
from kernelweave.dual import Machine
from kernelweave.errors import InputError, InternalError
from kernelweave.estimators.prepared_terms import Terms
from kernelweave.gram import DenseGram, bind
from kernelweave.gram.rounding import safe_quad
from kernelweave.kernels import RBF, Identity, Linear
from kernelweave.mkl.base import Problem, check_bounds
from kernelweave.norms import LpNorm, Simplex
from kernelweave.views import as_views

RNG = np.random.default_rng(0)
CELSIUS = RNG.normal(15, 8, 200)
WARM = CELSIUS + RNG.normal(size=200) > 20


def objective_of(model, X, y):
    """Return C Σ hinge(y, f) + ½ ‖w‖² of a model, from what it shows alone."""
    f = model.decision_function(X)
    K = model.kernel_(X[model.support_], X[model.support_])
    return np.maximum(0.0, 1.0 - y * f).sum() * model.C_ + 0.5 * float(model.dual_coef_[0] @ K @ model.dual_coef_[0])


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("loaded", [False, True], ids=["fitted", "loaded"])
def test_terms_that_differ_by_a_constant_share_their_weight_and_the_model_is_right(norm, loaded, tmp_path):
    X, y = np.column_stack([CELSIUS, CELSIUS + 273.15]), np.where(WARM, 1.0, -1.0)
    model = MKLClassifier(per_feature(Linear()), norm=norm, tol=1e-6).fit(X, y)
    if loaded:
        save(model, tmp_path / "m.kw")
        model = load(tmp_path / "m.kw")
    alone = MKLClassifier(Linear(), tol=1e-6).fit(X[:, :1], y)
    assert model.score(X, y) == pytest.approx(alone.score(X[:, :1], y), abs=0.01)
    assert objective_of(model, X, y) == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(model.weights_[0], model.weights_[1], rtol=1e-3)


def test_a_regression_on_two_units_of_one_quantity():
    X = np.column_stack([CELSIUS, CELSIUS + 273.15])
    assert MKLRegressor(per_feature(Linear()), C=10.0).fit(X, 2 * CELSIUS).score(X, 2 * CELSIUS) > 0.99


def test_two_dummies_of_one_question():
    male = RNG.random(200) < 0.5
    X, y = np.column_stack([male, ~male]).astype(float), male ^ (RNG.random(200) < 0.05)
    assert MKLClassifier(per_feature(Linear())).fit(X, y).score(X, y) > 0.9


def test_matrices_that_differ_by_a_constant():
    A = RNG.normal(size=(100, 3))
    kernel = Precomputed(A @ A.T, name="a") + Precomputed((A + 50) @ (A + 50).T, name="b")
    y = A[:, 0] > 0
    assert MKLClassifier(kernel).fit(np.arange(100), y).score(np.arange(100), y) > 0.9


def test_one_class_machines_tell_terms_apart_by_a_constant():
    model = MKLOneClass(per_feature(Linear()), nu=0.3).fit(np.column_stack([CELSIUS, CELSIUS + 273.15]))
    assert not model.notes_


def test_a_model_that_says_something_else_is_not_returned(monkeypatch):
    spread = Terms.spread
    monkeypatch.setattr(Terms, "spread", lambda self, weights: 1.001 * spread(self, weights))
    with pytest.raises(InternalError, match="gives other decision values for its training samples"):
        MKLClassifier(RBF(1.0)).fit(CELSIUS[:, None] / 8, WARM)


@pytest.mark.parametrize("kernel", [RBF(0.1) + Identity(), RBF(0.1) + 0.5 * Identity(), RBF(0.1) * Identity()], ids=str)
def test_identities_know_training_samples_only(kernel):
    assert MKLClassifier(kernel, loss="squared").fit(CELSIUS[:, None], WARM).converged_


def test_losses_whose_functions_do_not_fit_are_refused():
    wrong = kw.CustomLoss(
        lambda y, f: 0.5 * (y - f) ** 2, lambda y, f: f - y, lambda y, slope: slope * y + 0.5 * slope**2 - 1.0
    )
    with pytest.raises(InputError, match=r"do not fit each other.*should add up to"):
        MKLRegressor(RBF(0.1), loss=wrong).fit(CELSIUS[:, None], CELSIUS)


def test_a_lower_bound_above_the_objective_is_an_error():
    class Wrong(Simplex):
        def dual_norm(self, quad):
            return -1e6

    X = np.column_stack([CELSIUS, RNG.normal(size=200)])
    with pytest.raises(InternalError, match=r"The lower bound of the optimum, .*, is above the objective"):
        MKLClassifier(per_feature(Linear()), norm=Wrong()).fit(X, WARM)


def test_bounds_may_cross_by_rounding_only():
    gram = bind(RBF(1.0), as_views(CELSIUS[:, None]))
    problem = Problem(gram, [Machine(kw.losses.Hinge(), np.ones(200), np.ones(200))], Simplex())
    check_bounds(1.0, 1.0 + 1e-12, 1e-9, problem)
    with pytest.raises(InternalError, match="please report it"):
        check_bounds(1.0, 1.0 + 1e-6, 1e-9, problem)


@pytest.mark.parametrize("p", [1.0, 0.5, -2.0, np.inf, np.nan])
def test_norms_that_are_none_are_refused(p):
    with pytest.raises(InputError, match=r"LpNorm needs a finite p > 1"):
        LpNorm(p)


@pytest.mark.parametrize("rank", [1, 3, 20])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_single_precision_proves_no_more_than_it_knows(rank, C):
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(60, rank)) + 30.0
    K, y = A @ A.T, np.where(rng.random(60) < 0.5, 1.0, -1.0)
    rounded = Precomputed(K.astype(np.float32), psd="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        true = MKLClassifier(Precomputed(K), C=C, tol=1e-9, scaling=None).fit(np.arange(60), y)
        model = MKLClassifier(rounded, C=C, tol=1e-9, scaling=None).fit(np.arange(60), y)
    assert model.lower_bound_ <= true.objective_ * (1 + 1e-9)


def test_numbers_that_a_quad_is_at_most():
    X, coef = as_views(RNG.normal(size=(50, 3)) + 10.0), RNG.normal(size=50)
    kernel = RBF(0.5) + Linear()
    exact, single = bind(kernel, X), DenseGram.compute(kernel.terms(X), X, dtype=np.float32)
    assert not exact.held.single
    assert single.held.single == (0, 1)
    quad = exact.quad(coef)
    assert (safe_quad(single, coef) >= quad).all()
    np.testing.assert_allclose(safe_quad(single, coef, exact=True), quad, rtol=1e-12)
    np.testing.assert_allclose(safe_quad(single, coef), quad, rtol=1e-3)
    np.testing.assert_array_equal(safe_quad(exact, coef), quad)


def test_single_precision_reaches_tight_gaps_by_values_computed_anew(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 3)), rng.random(120) < 0.5
    evaluate = DenseGram.compute
    monkeypatch.setattr(DenseGram, "compute", lambda *given, **o: evaluate(*given, **o | {"dtype": np.float32}))
    model = MKLClassifier(RBF(0.5) + RBF(2.0), C=300.0, tol=1e-5)
    assert model.fit(X, y).converged_
    monkeypatch.setattr("kernelweave.mkl.problem.safe_quad", lambda gram, coef, exact=False: safe_quad(gram, coef))
    with pytest.warns(ConvergenceWarning, match="stalled"):
        assert model.fit(X, y).gap_ > 1e-5


def test_functions_whose_matrices_are_held_in_single_precision_are_kernels_still(monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)) + 5.0, rng.random(60) < 0.5
    evaluate = DenseGram.compute
    monkeypatch.setattr(DenseGram, "compute", lambda *given, **o: evaluate(*given, **o | {"dtype": np.float32}))
    assert np.isfinite(MKLClassifier(lambda A, B: A @ B.T).fit(X, y).gap_)
