"""What is learned beside the weights, and what happens when fits go on, terms coincide or memory is short."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from kernelweave import (
    RBF,
    DataWarning,
    Fixed,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Polynomial,
    per_feature,
)
from kernelweave.dual import smo
from kernelweave.gram import DenseGram, StreamedGram, bind
from kernelweave.mkl import SILP, ActiveTerms, Hessian, SILPChunking
from kernelweave.views import as_views

KERNEL = RBF(0.3) + RBF(1.0).on(0) + Linear()


def data(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, y


def squared(kernel=KERNEL, **options):
    return MKLRegressor(kernel, loss="squared", **{"tol": 1e-7, **options})


def squared_hinge(kernel=KERNEL, **options):
    return MKLClassifier(kernel, loss="squared_hinge", **{"tol": 1e-7, **options})


def targets(make, y):
    return y if make is squared else np.where(y > 0, 1, -1)


both = pytest.mark.parametrize("make", [squared, squared_hinge])


# --- learn_C ---


@both
@pytest.mark.parametrize("scaling", ["variance", "trace", None])
def test_a_scan_over_C_finds_nothing_lower(make, scaling):
    X, y = data()
    y = targets(make, y)
    model = make(RBF(0.3), learn_C=True, scaling=scaling).fit(X, y)
    assert model.converged_
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.term_names_[-1] == "Identity()"

    def objective(share):
        """The plain machine, with a share of the weight on the identity and the rest on the kernel."""
        C = 0.5 * model.scales_[-1] / share
        return make(RBF(0.3), norm=Fixed([1.0 - share]), C=C, scaling=scaling).fit(X, y).objective_

    shares = np.linspace(0.02, 0.98, 25)
    values = [objective(share) for share in shares]
    lowest = int(np.argmin(values))
    bounds = shares[max(0, lowest - 1)], shares[min(24, lowest + 1)]
    best = minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    assert model.objective_ == pytest.approx(best.fun, rel=1e-6)
    assert model.weights_[-1] == pytest.approx(best.x, rel=1e-2)
    assert model.lower_bound_ <= min(values) * (1 + 1e-9)


@both
@pytest.mark.parametrize("scaling", ["variance", "trace", None])
def test_the_learned_C_is_the_C_of_a_plain_machine(make, scaling):
    X, y = data()
    y = targets(make, y)
    model = make(learn_C=True, scaling=scaling).fit(X, y)
    plain = make(norm=Fixed(model.weights_[:-1]), C=model.C_, scaling=scaling).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    new = data(20, seed=1)[0]
    decide = "predict" if make is squared else "decision_function"
    for sample in (new, X):
        np.testing.assert_allclose(getattr(model, decide)(sample), getattr(plain, decide)(sample), rtol=1e-3, atol=1e-4)


@both
def test_more_noise_is_a_smaller_C(make):
    X, y = data(80)
    noise = np.random.default_rng(1).standard_normal(80)
    found = [make(learn_C=True).fit(X, targets(make, y + size * noise)).C_ for size in (0.0, 0.5, 2.0)]
    assert found[0] > found[1] > found[2] > 0


@both
def test_the_identity_is_no_part_of_a_prediction(make):
    X, y = data()
    y = targets(make, y)
    model = make(learn_C=True).fit(X, y)
    kernels = zip(model.weights_ / model.scales_, KERNEL.terms(as_views(X)), strict=False)
    parts = sum(w * k(X, X[model.support_]) for w, k in kernels)  # the identity is the last weight: left out
    expected = (parts @ model.dual_coef_.T)[:, 0] + model.intercept_[0]
    decision = model.predict(X) if make is squared else model.decision_function(X)
    np.testing.assert_allclose(decision, expected, rtol=1e-8, atol=1e-10)
    assert model.score(X, y, split=True)[-1] == 0.0


@both
@pytest.mark.parametrize("scaling", ["variance", "trace", None])
def test_weight_two_is_being_there_twice(make, scaling):
    X, y = data(40)
    y, times = targets(make, y), np.random.default_rng(2).integers(0, 4, 40)
    weighted = make(learn_C=True, scaling=scaling, tol=1e-6).fit(X, y, sample_weight=times)
    repeated = make(learn_C=True, scaling=scaling, tol=1e-6).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert pytest.approx(repeated.C_, rel=1e-3) == weighted.C_
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-3)


@both
def test_the_given_C_does_not_matter(make):
    X, y = data()
    one, other = (make(learn_C=True, C=C).fit(X, targets(make, y)) for C in (0.01, 100.0))
    assert pytest.approx(other.C_, rel=1e-9) == one.C_


@pytest.mark.parametrize("weights", ["shared", "per_class"])
def test_one_C_for_all_classes_or_one_for_each(weights):
    X, y = data(60)
    classes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    model = squared_hinge(learn_C=True, weights=weights, tol=1e-5).fit(X, classes)
    assert model.converged_
    assert np.shape(model.C_) == (() if weights == "shared" else (3,))
    assert np.all(np.asarray(model.C_) > 0)
    assert model.score(X, classes) > 0.7


@pytest.mark.parametrize("solver", ["silp", "silp_chunking", "simple", "hessian"])
def test_every_solver_learns_C(solver):
    X, y = data()
    best = squared(learn_C=True).fit(X, y)
    model = squared(learn_C=True, solver=solver, tol=1e-4).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "smooth_hinge"])
def test_other_losses_have_no_ridge_to_learn(loss, blobs):
    with pytest.raises(InputError, match="learn_C=True needs a squared loss, whose C is a ridge on the kernel; got"):
        MKLClassifier(KERNEL, loss=loss, learn_C=True).fit(*blobs)
    with pytest.raises(InputError, match="needs a squared loss"):
        MKLRegressor(KERNEL, learn_C=True).fit(*data())


@pytest.mark.parametrize("scaling", ["variance", "trace", None])
@pytest.mark.parametrize("solver", ["auto", "silp", "silp_chunking", "simple"])
def test_without_noise_C_goes_to_its_upper_end(solver, scaling):
    X = data()[0]
    y = X @ [1.0, 2.0, -1.0] + 0.5
    kernel = RBF(0.5) + Linear()
    model = squared(kernel, learn_C=True, solver=solver, scaling=scaling, tol=1e-6).fit(X, y)
    assert model.converged_
    assert any(note.startswith("C went to its upper end") for note in model.notes_)
    assert 1e6 < model.C_ < np.inf
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    plain = squared(kernel, norm=Fixed(model.weights_[:-1]), C=model.C_, scaling=scaling).fit(X, y)
    assert plain.objective_ == pytest.approx(model.objective_, rel=1e-6)
    for share in (1e-6, 1e-2):  # a lower C takes its share of the weight
        C = 0.5 * model.scales_[-1] / share
        other = squared(kernel, norm=Fixed((1.0 - share) * model.weights_[:-1]), C=C, scaling=scaling).fit(X, y)
        assert other.objective_ > model.lower_bound_


def test_with_noise_there_is_nothing_to_say_of_C():
    X, y = data()
    assert squared(learn_C=True).fit(X, y).notes_ == []
    little = squared(RBF(0.5) + Linear(), learn_C=True, tol=1e-5)
    little.fit(X, X[:, 0] + 1e-4 * np.random.default_rng(0).standard_normal(50))
    assert little.converged_
    assert little.notes_ == []


# --- going on ---


MANY = sum(RBF(gamma) for gamma in (0.03, 0.1, 0.3, 1.0, 3.0)) + Linear() + per_feature(RBF(1.0))


def labels(n=100, seed=0):
    X, y = data(n, seed)
    return X, np.where(y > np.median(y), 1, -1)


@pytest.fixture
def counted(monkeypatch):
    """Counts the steps of SMO."""
    steps, step = [], smo.SMO.step

    def counting(self, *args):
        steps.append(1)
        return step(self, *args)

    monkeypatch.setattr(smo.SMO, "step", counting)
    return steps


def test_a_warm_path_costs_less(counted):
    X, y = labels()
    solves, steps, objectives = {}, {}, {}
    for warm in (True, False):
        model = MKLClassifier(MANY, warm_start=warm)
        counted.clear()
        solves[warm], objectives[warm] = 0, []
        for C in np.geomspace(0.3, 30.0, 10):
            model.set_params(C=C).fit(X, y)
            assert model.converged_
            solves[warm] += model.n_solves_
            objectives[warm].append(model.objective_)
        steps[warm] = len(counted)
    assert solves[True] < 0.75 * solves[False]
    assert steps[True] < 0.75 * steps[False]
    np.testing.assert_allclose(objectives[True], objectives[False], rtol=1e-3)


def test_a_second_fit_of_the_same_costs_next_to_nothing(counted):
    X, y = labels()
    model = MKLClassifier(MANY, warm_start=True).fit(X, y)
    first = len(counted)
    model.fit(X, y)
    assert model.n_solves_ == 1
    assert len(counted) - first <= 2


SOLVERS = ["silp", "silp_chunking", "simple", "hessian", Hessian(simple_first=True)]


@pytest.mark.parametrize("max_iter", [1, 2])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_fits_cut_short_add_up(solver, max_iter):
    X, y = labels(60)
    whole = MKLClassifier(MANY, C=3, solver=solver, max_iter=3000).fit(X, y)
    model = MKLClassifier(MANY, C=3, solver=solver, max_iter=max_iter, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = 0
        while fits < 10 + 4 * whole.n_iter_ / max_iter and not getattr(model, "converged_", False):
            model.fit(X, y)
            fits += 1
            assert np.isfinite(model.decision_function(X)).all()
    assert model.converged_, f"gap {model.gap_} after {fits} fits, against {whole.n_iter_} steps in one"
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-3)


@pytest.mark.parametrize("max_iter", [1, 2])
@pytest.mark.parametrize("inner", [Hessian(), SILP(), SILPChunking()], ids=str)
def test_streamed_fits_cut_short_add_up(inner, max_iter):
    X, y = labels(60)
    whole = MKLClassifier(MANY, C=3).fit(X, y)
    model = MKLClassifier(MANY, C=3, solver=ActiveTerms(inner, n_start=3, n_enter=2), max_iter=max_iter)
    model.set_params(warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(40):
            if model.fit(X, y).converged_:
                break
    assert model.converged_
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-3)
    assert model.lower_bound_ <= whole.objective_


@pytest.mark.parametrize("solver", [*SOLVERS, ActiveTerms(SILP(), n_start=3, n_enter=2)], ids=str)
def test_a_start_from_other_samples_proves_nothing_about_these(solver):
    X, y = labels(60)
    true = MKLClassifier(MANY, C=3, tol=1e-6).fit(X, y).objective_
    model = MKLClassifier(MANY, C=3, solver=solver, warm_start=True).fit(0.1 * X[::-1], y).fit(X, y)
    assert model.lower_bound_ <= true * (1 + 1e-9)
    assert model.objective_ == pytest.approx(true, rel=2e-3)


def test_a_fit_cut_short_says_so():
    X, y = labels(60)
    model = MKLClassifier(MANY, solver="silp", max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"stopped \(max_iter\) at a relative duality gap .* warm_start=True"):
        model.fit(X, y)
    assert not model.converged_
    assert model.stop_reason_ == "max_iter"
    assert model.gap_ > model.tol
    assert "not converged" in repr(model)


@pytest.mark.parametrize("change", ["samples", "terms", "classes"])
def test_a_start_that_does_not_fit_is_not_used(change):
    X, y = labels(60)
    model = MKLClassifier(MANY, warm_start=True).fit(X, y)
    if change == "samples":
        X, y = labels(50, seed=1)
    elif change == "terms":
        model.set_params(kernel=RBF(0.3) + Linear())
    else:
        y = np.arange(60) % 3
    fresh = MKLClassifier(model.kernel).fit(X, y)
    assert model.fit(X, y).objective_ == pytest.approx(fresh.objective_, rel=1e-9)


# --- terms that coincide, or say nothing ---


@pytest.mark.parametrize("solver", ["silp", "silp_chunking", "simple", "hessian"])
def test_identical_terms_share_their_weight(solver):
    X, y = labels(60)
    single = MKLClassifier(RBF(0.3) + Linear() + RBF(3.0), solver=solver, tol=1e-5).fit(X, y)
    twins = RBF(0.3) + Linear() + RBF(0.3).on([0, 1, 2]) + RBF(3.0) + 5.0 * RBF(0.3)
    model = MKLClassifier(twins, solver=solver, tol=1e-5).fit(X, y)
    assert model.weights_[0] == model.weights_[2] == model.weights_[4]
    assert model.notes_ == [
        "terms 0, 2, 4 are identical on these data, but for a constant at most, and share their weight equally"
    ]
    assert model.weights_[[0, 2, 4]].sum() == pytest.approx(single.weights_[0], abs=1e-9)
    np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), rtol=1e-6, atol=1e-8)


def test_terms_that_say_nothing_get_no_weight():
    X, y = labels(60)
    X = np.column_stack([X, np.full(60, 4.0), np.zeros(60)])
    kernel = RBF(0.3).on([0, 1]) + RBF(1.0).on(3) + Linear().on(4) + Linear().on(0) + Linear().on(3)
    model = MKLClassifier(kernel)
    with pytest.warns(DataWarning, match=r"3 term\(s\) are zero or constant on these data and get weight 0"):
        model.fit(X, y)
    assert model.weights_[[1, 2, 4]].tolist() == [0.0, 0.0, 0.0]
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.notes_) == 1
    rest = MKLClassifier(RBF(0.3).on([0, 1]) + Linear().on(0)).fit(X, y)
    np.testing.assert_allclose(model.weights_[[0, 3]], rest.weights_, atol=1e-9)
    with pytest.raises(InputError, match="Every term of the kernel is zero or constant"):
        MKLClassifier(RBF(1.0).on(3) + Linear().on(4)).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "silp", "silp_chunking", "simple", "hessian", "analytic"])
@pytest.mark.parametrize("make", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_one_term_is_the_plain_machine(make, solver):
    X, y = data()
    y = np.where(y > 0, 1, -1) if make is MKLClassifier else y
    model = make(RBF(0.3), solver=solver, tol=1e-8).fit(X, y)
    plain = make(RBF(0.3), norm="fixed", tol=1e-8).fit(X, y)
    assert model.weights_.tolist() == [1.0]
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-9)


# --- memory and scaling ---


@pytest.mark.parametrize("make", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_a_small_budget_gives_the_same_model(make):
    X, y = data(40)
    y = np.where(y > 0, 1, -1) if make is MKLClassifier else y
    kernel = sum(RBF(gamma).on(c) for c in range(3) for gamma in np.geomspace(0.01, 10.0, 100)) + Linear()
    budget = 2 * 8 * 40**2 * 70
    assert isinstance(bind(kernel, as_views(X)), DenseGram)
    assert isinstance(bind(kernel, as_views(X), memory=budget), StreamedGram)
    roomy = make(kernel, tol=1e-5).fit(X, y)
    tight = make(kernel, tol=1e-5, memory=budget).fit(X, y)
    assert tight.converged_
    assert tight.objective_ == pytest.approx(roomy.objective_, rel=1e-5)
    assert tight.lower_bound_ <= roomy.objective_ + 1e-9 * abs(roomy.objective_)
    assert roomy.lower_bound_ <= tight.objective_ + 1e-9 * abs(tight.objective_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaling", ["trace", "variance"])
def test_scaled_terms_have_a_spread_of_one(scaling, weighted):
    X, y = labels(40)
    times = np.random.default_rng(3).integers(1, 4, 40) if weighted else np.ones(40, dtype=int)
    kernel = RBF(0.3) + 7.0 * Linear() + Polynomial(3).on(0)
    model = MKLClassifier(kernel, scaling=scaling).fit(X, y, sample_weight=times)
    repeated = np.repeat(X, times, axis=0)
    for term, scale in zip(kernel.terms(as_views(X)), model.scales_, strict=True):
        K = term(repeated) / scale
        spread = np.trace(K) - K.sum() / len(K)
        assert spread == pytest.approx(1.0 if scaling == "trace" else len(K), rel=1e-9)


def test_trace_scaling_is_variance_scaling_with_another_C():
    X, y = labels(40)
    trace = MKLClassifier(MANY, scaling="trace", C=40 * 2.0, tol=1e-6).fit(X, y)
    variance = MKLClassifier(MANY, C=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(trace.weights_, variance.weights_, atol=1e-4)
    np.testing.assert_allclose(trace.decision_function(X), variance.decision_function(X), rtol=1e-3, atol=1e-4)
    assert trace.objective_ == pytest.approx(40 * variance.objective_, rel=1e-5)


@pytest.mark.parametrize("solver", ["auto", "analytic"])
def test_a_warm_start_with_another_norm_proves_the_new_optimum(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X[:, 0] + rng.standard_normal(50) > 0
    norms = [2, 1, "fixed", 1.2, Fixed([2.0, 1.0]), Fixed([1.0, 3.0]), 1.01, 1, 3]
    model = MKLClassifier(RBF() + Linear(), warm_start=True, solver=solver, tol=1e-4)
    for norm in norms:
        model.set_params(norm=norm).fit(X, y)
        cold = MKLClassifier(RBF() + Linear(), norm=norm, solver=solver, tol=1e-4).fit(X, y)
        assert model.converged_
        assert model.objective_ == pytest.approx(cold.objective_, rel=2e-4)
        assert np.allclose(model.weights_, cold.weights_, atol=0.02)
