"""Bad input and hard numbers: every fit ends, says how far it got, and loses nothing silently."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from kernelweave import (
    RBF,
    DataWarning,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Polynomial,
    Precomputed,
    per_feature,
)
from kernelweave.errors import TimeLimitError
from kernelweave.losses import LOSSES
from kernelweave.mkl import SOLVERS
from kernelweave.validation import warn_scales
from kernelweave.views import as_views

KERNEL = RBF(0.2) + Linear() + RBF(2.0)
LOSS_NAMES = [kind.name for kind in LOSSES if kind.name != "one_class"]


def estimator(loss, kernel=KERNEL, **options):
    if loss == "one_class":
        return MKLOneClass(kernel, **options)
    kind = MKLRegressor if loss == "epsilon_insensitive" else MKLClassifier
    return kind(kernel, loss=loss, **options)


def fit_quietly(model, X, y, sample_weight=None):
    """Fit, and check that a warning was given exactly where the gap stayed above tol."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight)
    kinds = {w.category for w in caught}
    assert kinds <= {ConvergenceWarning, DataWarning}, [str(w.message) for w in caught]
    assert (ConvergenceWarning in kinds) == (not model.converged_)
    assert not model.converged_ or model.gap_ <= model.tol
    assert np.isfinite(model.objective_)
    assert model.gap_ >= 0
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_).all()
    return model


# --- 33, 34: hard numbers ---


@pytest.mark.parametrize("C", [1e-12, 1e-6, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_row_33_any_cost_ends(loss, C, blobs):
    started = time.monotonic()
    model = fit_quietly(estimator(loss, C=C, max_seconds=3.0), *blobs)
    assert time.monotonic() - started < 8.0
    assert np.isfinite(
        model.predict(blobs[0]) if loss == "epsilon_insensitive" else model.decision_function(blobs[0])
    ).all()


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("loss", ["logistic", "smooth_hinge"])
def test_row_33_smooth_losses_converge_at_any_cost(loss, C, blobs):
    model = fit_quietly(estimator(loss, C=C, max_seconds=20.0), *blobs)
    assert model.converged_
    assert model.score(*blobs) == 1.0


@pytest.mark.parametrize("kernel", [KERNEL, Linear() + Linear().on(0)])
@pytest.mark.parametrize("C", [1e16, 1e20])
def test_row_33_a_cost_beyond_rounding_ends(C, kernel, blobs):
    fit_quietly(MKLRegressor(kernel, loss="squared", C=C, max_seconds=3.0), *blobs)


def test_rows_40_41_a_matrix_that_is_no_kernel_ends():
    B = np.random.default_rng(0).standard_normal((30, 30))
    K = Precomputed(B + B.T, psd="ignore") + Precomputed(B @ B.T)
    fit_quietly(MKLRegressor(K, loss="squared", C=10.0, max_seconds=3.0), np.arange(30), B[0])


@pytest.mark.parametrize("nu", [1e-9, 1e-3, 1.0])
def test_row_33_any_nu_ends(nu, blobs):
    fit_quietly(MKLOneClass(KERNEL, nu=nu, max_seconds=3.0), blobs[0], None)


@pytest.mark.parametrize("C", [1e-12, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_ordinary_costs_converge(loss, C, blobs):
    assert fit_quietly(estimator(loss, C=C, max_seconds=20.0), *blobs).converged_


@pytest.mark.parametrize("scale", [1e-6, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_row_34_any_unit_ends(loss, scale, blobs):
    X, y = blobs
    fit_quietly(estimator(loss, Linear() + Polynomial(2), max_seconds=5.0), scale * X, y)


def test_row_34_the_default_scaling_takes_units_out(blobs):
    X, y = blobs
    plain, scaled = MKLClassifier(Linear(), tol=1e-8).fit(X, y), MKLClassifier(Linear(), tol=1e-8).fit(1e6 * X, y)
    np.testing.assert_allclose(plain.decision_function(X), scaled.decision_function(1e6 * X), atol=1e-5)


def test_row_34_mixed_scales_warn(blobs):
    X, y = blobs
    with pytest.warns(DataWarning, match=r"spreads of the columns .*standardized"):
        MKLClassifier(Linear(), max_seconds=5.0).fit(X * [1, 1, 1, 1e6], y)
    with pytest.warns(DataWarning, match="no two samples are alike"):
        MKLClassifier(RBF(1.0)).fit(1e6 * X, y)
    MKLClassifier(RBF(1.0) + RBF(1e-12)).fit(1e6 * X, y)  # the weights may choose the width that fits


def test_row_34_long_tables_are_judged_as_short_ones(rng):
    X = rng.normal(size=(20_000, 3))
    X[7, 1] = 1e7  # between the rows that are looked at first
    with pytest.warns(DataWarning, match="spreads of the columns"):
        warn_scales(as_views(X), Linear())
    for scales, far in (([1, 10, 1], False), ([1, 1, 1e6], True), ([0, 1, 1], False), ([1e-5, 1, 0], True)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            warn_scales(as_views(rng.normal(size=(20_000, 3)) * scales + 1.0), Linear())
        assert bool(heard) == far


def test_row_34_shards_are_judged_as_the_table_they_are_of(rng, tmp_path):
    from kernelweave import NumberShards

    np.save(tmp_path / "x.npy", (rng.normal(size=(20_000, 2)) * [1, 1e6]).astype(np.float32))
    with pytest.warns(DataWarning, match="spreads of the columns"):
        warn_scales(as_views(NumberShards.open(str(tmp_path / "x.npy"))), Linear())


# --- 35: values ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200, -1e200])
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), per_feature(RBF(0.5)), Polynomial(3)], ids=repr)
def test_row_35_values_that_are_no_numbers(kernel, value, blobs):
    X, y = blobs
    bad = X.copy()
    bad[3, 2] = value
    for model in (MKLClassifier(kernel), MKLRegressor(kernel), MKLOneClass(kernel)):
        with pytest.raises(ValueError, match=r"NaN|infinity|too large|infinite"):
            model.fit(bad, y)
    model = MKLClassifier(kernel).fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|infinity|too large|infinite"):
        model.predict(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_row_35_targets_that_are_no_numbers(value, blobs):
    X, y = blobs
    y = y.astype(float)
    y[4] = value
    with pytest.raises(ValueError, match=r"(NaN|infinity).*row 4"):
        MKLRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"(NaN|infinity).*row 4"):
        MKLClassifier().fit(X, y)


# --- 36, 37, 51: repeated and weighted samples ---


@pytest.mark.parametrize("loss", [*LOSS_NAMES, "one_class"])
def test_rows_36_51_a_weight_is_a_number_of_copies(loss, blobs):
    X, y = blobs
    weight = np.arange(60) % 4  # none, one, two or three times
    again = np.repeat(np.arange(60), weight)
    weighted = fit_quietly(estimator(loss, tol=1e-9), X, y, weight.astype(float))
    repeated = fit_quietly(estimator(loss, tol=1e-9), X[again], y[again])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-4)
    decide = (lambda m: m.predict(X)) if loss == "epsilon_insensitive" else (lambda m: m.decision_function(X))
    scale = np.abs(decide(repeated)).max()
    np.testing.assert_allclose(decide(weighted), decide(repeated), atol=1e-4 * scale)


def test_row_51_zero_weights_are_absences(blobs):
    X, y = blobs
    keep = np.arange(60) % 3 > 0
    model = MKLClassifier(KERNEL, tol=1e-8).fit(X, y, keep.astype(float))
    alone = MKLClassifier(KERNEL, tol=1e-8).fit(X[keep], y[keep])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert set(model.support_) <= set(np.flatnonzero(keep))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "zero for every sample"),
        (-np.ones(60), "must be ≥ 0"),
        (np.where(np.arange(60) == 5, -0.5, 1.0), "row 5"),
        (np.full(60, np.nan), "NaN"),
        (np.ones(59), "59"),
        (np.ones((60, 2)), "1D"),
    ],
)
def test_row_51_bad_sample_weights(weight, message, blobs):
    for kind in (MKLClassifier, MKLRegressor, MKLOneClass):
        with pytest.raises(ValueError, match=message):
            kind().fit(*blobs, weight)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "smooth_hinge"])
def test_row_37_twins_with_opposite_labels(loss, blobs):
    X, y = blobs
    model = fit_quietly(MKLClassifier(KERNEL, loss=loss, C=1.0), np.vstack([X, X]), np.concatenate([y, -y]))
    assert model.converged_
    assert model.score(np.vstack([X, X]), np.concatenate([y, -y])) == pytest.approx(0.5)
    if loss == "hinge":  # nothing better than f = 0, where every sample costs C
        assert model.objective_ == pytest.approx(120.0)
        np.testing.assert_allclose(np.abs(model.dual_coef_), 1.0)


# --- 38 to 46: kernels ---


@pytest.fixture
def given(blobs):
    X, y = blobs
    return RBF(0.2)(X), np.arange(60), y


@pytest.mark.parametrize("norm", [1, 2, "fixed"])
@pytest.mark.parametrize("dead", [np.zeros((60, 60)), np.ones((60, 60)), 7.5 * np.ones((60, 60))])
def test_rows_38_39_a_zero_or_constant_kernel_is_dropped(dead, norm, given):
    K, ids, y = given
    kernel = Precomputed(dead, name="dead") + Precomputed(K, name="live")
    with pytest.warns(DataWarning, match=r"1 term\(s\) are zero or constant.*dead"):
        model = MKLClassifier(kernel, norm=norm).fit(ids, y)
    assert model.weights_.tolist() == [0.0, 1.0]
    alone = MKLClassifier(Precomputed(K), norm=norm).fit(ids, y)
    np.testing.assert_allclose(model.decision_function(ids), alone.decision_function(ids), atol=1e-9)
    assert any("dead" in note for note in model.notes_)


@pytest.mark.parametrize("dead", [np.zeros((60, 60)), np.ones((60, 60))])
def test_rows_38_39_nothing_but_dead_kernels(dead, given):
    _, ids, y = given
    with pytest.raises(InputError, match="nothing to learn from"):
        MKLClassifier(Precomputed(dead) + Precomputed(2 * dead)).fit(ids, y)
    with pytest.raises(InputError, match="nothing to learn from"):
        MKLClassifier(Linear()).fit(np.ones((60, 3)), y)


def test_rows_40_41_matrices_that_are_no_kernels(given):
    K, ids, y = given
    for bad, message in [
        (K + np.triu(K, 1), "not symmetric"),
        (K - 2 * np.eye(60), "not positive semi-definite: its lowest eigenvalue"),
        (K[:40], "square"),
    ]:
        with pytest.raises(InputError, match=message):
            MKLClassifier(Precomputed(bad)).fit(ids[: len(bad)], y[: len(bad)])
    for psd in ("clip", "ignore"):
        model = fit_quietly(MKLClassifier(Precomputed(K - 0.3 * np.eye(60), psd=psd), max_seconds=3.0), ids, y)
        assert model.score(ids, y) > 0.8


@pytest.mark.parametrize("solver", [kind.name for kind in SOLVERS])
@pytest.mark.parametrize("factor", [1.0, 10.0])
def test_rows_42_43_identical_kernels_share_their_weight(factor, solver, given):
    K, ids, y = given
    L = np.outer(y, y) * 0.1 + np.eye(60)
    if "Polyhedral" not in str(next(kind for kind in SOLVERS if kind.name == solver).needs):
        pytest.skip("not a solver for norm=1")
    kernel = Precomputed(K, name="a") + Precomputed(L, name="b") + Precomputed(factor * K, name="c")
    model = MKLClassifier(kernel, solver=solver, tol=1e-6).fit(ids, y)
    pair = MKLClassifier(Precomputed(K) + Precomputed(L), solver=solver, tol=1e-6).fit(ids, y)
    assert model.weights_[0] == model.weights_[2]
    assert model.weights_[0] + model.weights_[2] == pytest.approx(pair.weights_[0], abs=1e-9)
    assert any("terms 0, 2 are identical" in note for note in model.notes_)
    np.testing.assert_allclose(model.decision_function(ids), pair.decision_function(ids), atol=1e-6)


def test_row_44_one_kernel_is_the_plain_machine(given):
    K, ids, y = given
    for norm in (1, 2, 1.3):
        model = MKLClassifier(Precomputed(K), norm=norm, scaling=None, tol=1e-9).fit(ids, y)
        assert model.weights_.tolist() == [1.0]
        svc = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
        np.testing.assert_allclose(model.decision_function(ids), svc.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("norm", [1, 1.5, 2])
def test_row_45_more_kernels_than_samples(norm, rng):
    X, y = rng.normal(size=(20, 500)), np.arange(20) % 2
    X[:, 3] += 2 * y
    model = fit_quietly(MKLClassifier(per_feature(RBF(0.5)), norm=norm, max_seconds=20.0), X, y)
    assert model.converged_
    assert (model.weights_ >= 0).all()
    assert (model.weights_**norm).sum() == pytest.approx(1.0, abs=1e-9)
    assert norm > 1 or model.weights_.argmax() == 3


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_row_46_rank_one_kernels(loss, given, rng):
    _, ids, y = given
    x, z = rng.normal(size=60), rng.normal(size=60)
    kernel = Precomputed(np.outer(x, x), name="x") + Precomputed(np.outer(z, z), name="z")
    assert fit_quietly(estimator(loss, kernel, max_seconds=20.0), ids, y).converged_


# --- 47 to 50: classes ---


def test_row_47_a_single_class_is_refused(blobs):
    X, _ = blobs
    with pytest.raises(InputError, match="only one class, 'a'"):
        MKLClassifier().fit(X, ["a"] * 60)
    weight = np.zeros(60)
    weight[:5] = 1.0
    with pytest.raises(InputError, match="Only one class has samples of positive weight"):
        MKLClassifier().fit(X, np.arange(60) < 5, weight)
    with pytest.raises(InputError, match="Only one class has samples of positive weight"):
        MKLClassifier(class_weight={0: 0.0, 1: 1.0}).fit(X, np.arange(60) % 2)


def test_row_48_one_and_two_samples():
    for kind in (MKLClassifier, MKLRegressor, MKLOneClass):
        with pytest.raises(ValueError, match=r"[Ff]ound array with 1 sample|1 sample\(s\)"):
            kind().fit(np.ones((1, 2)), [1])
        model = kind(RBF(0.5)).fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
        assert len(model.predict([[0.0, 1.0]])) == 1
    assert MKLClassifier(RBF(0.5)).fit([[0.0], [1.0]], ["n", "y"]).predict([[0.1], [0.9]]).tolist() == ["n", "y"]


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [0, 1],
        [-1, 1],
        [1, 2],
        [1.0, 2.0],
        np.array(["no", "yes"], dtype=object),
    ],
    ids=str,
)
def test_row_49_labels_of_any_type_give_the_same_model(labels, blobs):
    X, y = blobs
    plain = MKLClassifier(KERNEL).fit(X, y)
    named = np.asarray(labels)[(y > 0).astype(int)]
    model = MKLClassifier(KERNEL).fit(X, named)
    assert model.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert (model.predict(X) == np.asarray(labels)[(plain.predict(X) > 0).astype(int)]).all()


def test_numbers_are_no_labels(blobs):
    with pytest.raises(ValueError, match="Unknown label type"):
        MKLClassifier().fit(blobs[0], np.random.default_rng(0).normal(size=60))


def test_row_50_rare_classes_warn(rng):
    n = 10_001
    X, y = rng.normal(size=(n, 1)), np.zeros(n, dtype=int)
    X[0], y[0] = 8.0, 1
    few = np.arange(1500)
    with pytest.warns(DataWarning, match=r"Class 0 outweighs class 1 by 1.5e\+03 to 1.*balanced"):
        MKLClassifier(RBF(0.5)).fit(X[few], y[few])
    model = MKLClassifier(RBF(0.5), class_weight="balanced").fit(X[few], y[few])
    assert model.predict([[8.0]]).tolist() == [1]


# --- 52, 53, 56: solvers that fail, stall or run out ---


def test_row_52_a_failed_linear_program_keeps_the_last_weights(monkeypatch, blobs):
    from kernelweave.mkl.master_lp import MasterLP

    solve, calls = MasterLP.solve, []

    def failing(self):
        calls.append(1)
        if len(calls) < 3:
            return solve(self)
        self.highs.getModelStatus = lambda: None  # neither the warm nor the fresh run is optimal
        return solve(self)

    monkeypatch.setattr(MasterLP, "solve", failing)
    with pytest.warns(ConvergenceWarning):
        model = MKLClassifier(KERNEL, solver="silp", tol=1e-12).fit(*blobs)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert not model.converged_
    assert np.isfinite(model.gap_)


@pytest.mark.parametrize("solver", [kind.name for kind in SOLVERS if kind.exact])
def test_row_56_limits_of_steps_and_time(solver, blobs):
    X, y = blobs
    norm = 2 if solver == "analytic" else 1
    options = {"solver": solver, "norm": norm, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning, match=r"stopped \(max_iter\) at a relative duality gap of"):
        model = MKLClassifier(KERNEL, max_iter=1, **options).fit(X, y)
    assert not model.converged_
    assert model.stop_reason_ == "max_iter"
    assert model.n_iter_ == 1
    assert f"not converged: gap {model.gap_:.2g} (max_iter)" in repr(model)
    with pytest.raises(TimeLimitError, match="Raise max_seconds"):
        MKLClassifier(KERNEL, max_seconds=1e-9, **options).fit(X, y)


@pytest.mark.parametrize("weights", ["shared", "per_class"])
@pytest.mark.parametrize("norm", [1, 2])
def test_row_56_warm_start_goes_on(norm, weights, blobs):
    X, y = blobs
    y = (y > 0).astype(int) + (X[:, 0] > 1)
    options = {"norm": norm, "weights": weights, "tol": 1e-7}
    model, gaps = MKLClassifier(KERNEL, max_iter=2, warm_start=True, **options), []
    for _ in range(60):
        gaps.append(fit_quietly(model, X, y).gap_)
        if model.converged_:
            break
    assert len(gaps) > 1, "the limit was never reached, so nothing was shown"
    assert model.converged_
    once = MKLClassifier(KERNEL, **options).fit(X, y)
    assert model.objective_ == pytest.approx(once.objective_, rel=1e-6)
    assert model.n_iter_ < once.n_iter_
    model.set_params(max_iter=1000)
    model.fit(X[:50], y[:50])  # other shapes: starts afresh
    assert model.converged_
    model.fit(X[:50], y[:50])
    assert model.n_iter_ <= 2 * (3 if weights == "per_class" else 1), "at the optimum there is nothing left to do"


def test_row_10_interrupts_leave_a_usable_model(monkeypatch, blobs):
    from kernelweave.dual.smo import SMO

    X, y = blobs
    y = (y > 0).astype(int) + (X[:, 0] > 1)
    step = SMO.step
    for weights in ("shared", "per_class"):
        calls = []

        def interrupted(self, *args, calls=calls):
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            assert len(calls) < 4, "nothing more is solved after an interrupt"
            return step(self, *args)

        monkeypatch.setattr(SMO, "step", interrupted)
        model = MKLClassifier(KERNEL, weights=weights, tol=1e-6, warm_start=True)
        with pytest.raises(KeyboardInterrupt, match="the model is usable"):
            model.fit(X, y)
        monkeypatch.setattr(SMO, "step", step)
        assert model.stop_reason_ == "interrupted"
        assert not model.converged_
        assert model.predict(X).shape == (60,)
        assert np.isfinite(model.gap_)
        assert model.fit(X, y).converged_


# --- 53, 54: decision values that drift or are damaged ---


def true_objective(model, X, y):
    """The primal objective of a fitted machine, from nothing but its kernel and coefficients."""
    K = model.kernel_(X[model.support_])
    f = model.kernel_(X, X[model.support_]) @ model.dual_coef_[0]
    loss = np.maximum(0.0, 1.0 - y * (f + model.intercept_[0])).sum()
    return model.C * loss + 0.5 * model.dual_coef_[0] @ K @ model.dual_coef_[0]


def disturb(monkeypatch, disturbance):
    """Let `disturbance` change the decision values that SMO carries along; return the list of its steps."""
    from kernelweave.dual.smo import SMO

    step, calls = SMO.step, []

    def disturbed(self, *args):
        state = step(self, *args)
        calls.append(1)
        return replace(state, f=disturbance(state.f, len(calls)))

    monkeypatch.setattr(SMO, "step", disturbed)
    return calls


@pytest.mark.parametrize("at", [1, 2, 4])
def test_row_53_damaged_decision_values_are_computed_anew(at, monkeypatch, blobs):
    X, y = blobs
    model = MKLClassifier(RBF(0.3), C=10.0, tol=1e-6)
    objective = model.fit(X, y).objective_
    monkeypatch.setattr(
        "kernelweave.dual.smo.worth_polishing", lambda qp, state: False
    )  # which would mend it by chance
    calls = disturb(monkeypatch, lambda f, call: f + (np.sin(np.arange(len(f))) if call == at else 0.0))
    model.fit(X, y)
    assert len(calls) >= at
    assert model.converged_
    assert model.n_solves_ == 1, "it is mended on the way, not by solving again"
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    assert true_objective(model, X, y) == pytest.approx(objective, rel=1e-6)


def test_row_53_decision_values_that_stay_damaged_stop_the_fit(monkeypatch, blobs):
    X, y = blobs
    calls = disturb(monkeypatch, lambda f, call: f + np.cos(7.0 * np.arange(len(f)) + call))
    monkeypatch.setattr("kernelweave.dual.smo.SHARE_OF_FEW", 0.1)  # one step alone must not reach the optimum
    model = fit_quietly(MKLClassifier(RBF(0.3), C=10.0, tol=1e-6), X, y)
    assert model.stop_reason_ == "stalled"
    assert len(calls) < 50, "it does not try for long"
    truth = true_objective(model, X, y)
    assert model.objective_ == pytest.approx(truth, rel=1e-9), "what it reports is nevertheless true"
    monkeypatch.undo()
    best = MKLClassifier(RBF(0.3), C=10.0, tol=1e-6).fit(X, y).objective_
    assert model.lower_bound_ <= best * (1 + 1e-9) <= truth * (1 + 1e-9)


def test_row_54_rounding_does_not_add_up_over_many_rounds(monkeypatch, rng):
    """Small working sets and values rounded to single precision: thousands of rounds, and a gap that is true."""
    from kernelweave.dual.smo import SMO
    from kernelweave.gram.base import Combined

    y = np.where(rng.random(150) < 0.5, 1, -1)
    X = rng.normal(size=(150, 2)) + 0.3 * y[:, None]
    model = MKLClassifier(RBF(0.5), C=10.0, tol=1e-4)
    objective = model.fit(X, y).objective_
    monkeypatch.setattr(SMO.__init__, "__defaults__", (2,))
    monkeypatch.setattr("kernelweave.gram.base.Gram.matrix", lambda self, weights: None)
    monkeypatch.setattr("kernelweave.gram.dense.DenseGram.matrix", lambda self, weights: None)
    monkeypatch.setattr("kernelweave.dual.smo.worth_polishing", lambda qp, state: False)
    apply, rebuilt = Combined.apply, []
    monkeypatch.setattr(Combined, "apply", lambda self, coef: rebuilt.append(1) or apply(self, coef))
    calls = disturb(monkeypatch, lambda f, call: f.astype(np.float32).astype(np.float64) * (1.0 + 1e-8))
    model.fit(X, y)
    assert len(calls) > 1000
    assert len(rebuilt) > len(calls) / 1000
    assert model.objective_ == pytest.approx(true_objective(model, X, y), rel=1e-9)
    assert model.objective_ == pytest.approx(objective, rel=1e-3)
    assert model.converged_


# --- 16 to 18, 31, 54, 55: threads, processes, seeds, files, single precision ---


@pytest.mark.parametrize("loss", [*LOSS_NAMES, "one_class"])
def test_row_55_the_same_fit_twice_gives_the_same_bits(loss, blobs):
    one, two = (estimator(loss, random_state=0).fit(*blobs) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_rows_16_55_threads_change_nothing_that_matters(n_jobs, blobs):
    before = [pool["num_threads"] for pool in threadpool_info()]
    one, two = MKLClassifier(KERNEL, tol=1e-8).fit(*blobs), MKLClassifier(KERNEL, tol=1e-8, n_jobs=n_jobs).fit(*blobs)
    np.testing.assert_allclose(one.decision_function(blobs[0]), two.decision_function(blobs[0]), atol=1e-5)
    assert [pool["num_threads"] for pool in threadpool_info()] == before, "BLAS has its threads back"


def test_row_17_fits_side_by_side(blobs):
    X, y = blobs
    costs = [0.1, 1.0, 10.0, 100.0] * 3
    alone = [MKLClassifier(KERNEL, C=C).fit(X, y).decision_function(X) for C in costs[:4]]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda C: MKLClassifier(KERNEL, C=C).fit(X, y).decision_function(X), costs))
    for i, f in enumerate(together):
        np.testing.assert_array_equal(f, alone[i % 4])


def test_row_18_processes_side_by_side(blobs):
    one, two = (cross_val_score(MKLClassifier(KERNEL), *blobs, cv=2, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_row_31_read_only_files_are_read_and_left_alone(tmp_path, blobs):
    X, y = blobs
    np.save(tmp_path / "X.npy", X)
    before = (tmp_path / "X.npy").read_bytes()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = MKLClassifier(KERNEL).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(MKLClassifier(KERNEL).fit(mapped, y).decision_function(mapped), expected)
    np.save(tmp_path / "K.npy", RBF(0.2)(X))
    K = np.load(tmp_path / "K.npy", mmap_mode="r")
    from_file = MKLClassifier(Precomputed(K)).fit(np.arange(60), y)
    np.testing.assert_allclose(
        from_file.decision_function(np.arange(60)), MKLClassifier(RBF(0.2)).fit(X, y).decision_function(X)
    )
    assert (tmp_path / "X.npy").read_bytes() == before


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_single_precision_and_cached_rows_come_near(loss, rng):
    X = rng.normal(size=(220, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=220) > 0, 1, -1)
    exact = MKLClassifier(KERNEL, loss=loss, tol=1e-3).fit(X, y)
    whole = 8 * 220 * 220 * 4
    for memory in (whole - 1, whole // 2 - 1):
        model = MKLClassifier(KERNEL, loss=loss, tol=1e-3, memory=memory).fit(X, y)
        assert model.converged_
        assert model.objective_ == pytest.approx(exact.objective_, rel=2e-3)
        # the gap is that of the values themselves, however they were stored
        f = model.decision_function(X)
        K = model.kernel_(X[model.support_])
        losses = {
            "hinge": np.maximum(0, 1 - y * f),
            "squared": (y - f) ** 2,
            "logistic": np.logaddexp(0, -y * f),
        }[loss]
        objective = losses.sum() + 0.5 * model.dual_coef_[0] @ K @ model.dual_coef_[0]
        assert model.objective_ == pytest.approx(objective, rel=1e-4)
