"""Widths learned per feature: exact derivatives, features that do not matter, and honest words."""

import itertools

import numpy as np
import pytest

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLOneClass, MKLRegressor, clock
from kernelweave.datasets import make_relevant
from kernelweave.dual import Machine
from kernelweave.errors import MemoryBudgetError, TimeLimitError
from kernelweave.estimators import learned_widths
from kernelweave.losses import LOSSES, Hinge, Squared
from kernelweave.mkl import machines as mkl_machines
from kernelweave.mkl import widths
from kernelweave.mkl.widths import Scale, _Point, learn_widths
from kernelweave.testing.losses import targets

N, D = 30, 3


WEIGHTS = np.random.default_rng(5).uniform(0.5, 3.0, N)


def point(machines, theta, start=None, scaling="variance", share=None):
    X = np.random.default_rng(0).standard_normal((N, D))
    return _Point(X, machines, Scale(scaling, np.ones(N) if share is None else share), theta, start, np.inf)


@pytest.mark.parametrize("n_machines", [1, 2])
@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind.total == 0])
def test_the_derivatives_in_the_logarithm_of_the_widths(kind, n_machines, monkeypatch):
    monkeypatch.setattr(mkl_machines, "EXACT_GAP", 0.0)  # differences are to mean something
    loss, rng = kind(), np.random.default_rng(1)
    machines = [Machine(loss, targets(loss, N, rng), rng.uniform(0.5, 2.0, N)) for _ in range(n_machines)]
    theta, h = np.array([-1.0, -0.3, 0.4]), 1e-5
    here = point(machines, theta)
    gradient, hessian = here.derivatives()
    assert np.abs(hessian).max() > 0
    for c in range(D):
        move = h * np.eye(D)[c]
        above, below = point(machines, theta + move, here.step), point(machines, theta - move, here.step)
        slope = (above.step.upper - below.step.upper) / (2 * h)
        assert gradient[c] == pytest.approx(slope, rel=1e-4, abs=1e-6 * np.abs(gradient).max())
        change = (above.derivatives()[0] - below.derivatives()[0]) / (2 * h)
        np.testing.assert_allclose(hessian[c], change, rtol=1e-3, atol=1e-3 * np.abs(hessian).max())


def test_derivatives_do_not_depend_on_the_blocks(rng, monkeypatch):
    machines = [Machine(Hinge(), np.where(rng.random(N) < 0.5, 1.0, -1.0), np.ones(N))]
    expected = point(machines, np.zeros(D)).derivatives()
    monkeypatch.setattr(widths, "BLOCK_BYTES", 8 * N * D * 7)
    for found, value in zip(point(machines, np.zeros(D)).derivatives(), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-12)


def test_widths_keep_to_the_budget(rng):
    X, y = rng.standard_normal((2000, 2)), np.arange(2000) % 2
    model = MKLClassifier(RBF("learn"), memory="50MB")
    with pytest.raises(MemoryBudgetError, match="widths"):
        model.fit(X, y)
    with pytest.raises(MemoryBudgetError, match="widths"):
        model.memory_needed(X)


def test_widths_of_many_samples_are_those_of_a_part_of_them(rng, monkeypatch):
    X = rng.standard_normal((300, 4))
    y = np.where(X[:, 0] * X[:, 2] > 0, 1, -1)
    monkeypatch.setattr(learned_widths, "MOST", 120)
    model = MKLClassifier(RBF("learn"), random_state=0).fit(X, y)
    rows = np.sort(np.random.default_rng(0).choice(300, 120, replace=False))
    some = MKLClassifier(RBF("learn"), random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(model.widths_.gamma, some.widths_.gamma)
    assert len(model.support_) > len(some.support_)  # the machine is that of all samples
    assert min(model.widths_.gamma[[0, 2]]) > 3.0 * max(model.widths_.gamma[[1, 3]])
    assert "120 of 300 samples" in " ".join(model.notes_)


scalings = pytest.mark.parametrize("scaling", ["variance", "trace", None])


@scalings
@pytest.mark.parametrize("kind", [Hinge, Squared])
def test_the_derivatives_under_every_scaling(kind, scaling, monkeypatch):
    monkeypatch.setattr(mkl_machines, "EXACT_GAP", 0.0)
    rng = np.random.default_rng(1)
    C = WEIGHTS * (N if scaling == "trace" else 1.0)  # or the machine would hardly move
    machines = [Machine(kind(), targets(kind(), N, rng), C)]
    theta, h = np.array([-1.0, -0.3, 0.4]), 1e-5
    gradient, hessian = point(machines, theta, None, scaling, WEIGHTS).derivatives()
    for c in range(D):
        move = h * np.eye(D)[c]
        above, below = (point(machines, theta + sign * move, None, scaling, WEIGHTS) for sign in (1, -1))
        slope = (above.step.upper - below.step.upper) / (2 * h)
        assert gradient[c] == pytest.approx(slope, rel=1e-4, abs=1e-6 * np.abs(gradient).max())
        change = (above.derivatives()[0] - below.derivatives()[0]) / (2 * h)
        np.testing.assert_allclose(hessian[c], change, rtol=1e-3, atol=1e-3 * np.abs(hessian).max())


@scalings
@pytest.mark.parametrize("share", [np.ones(N), WEIGHTS], ids=["alike", "weighted"])
def test_the_point_is_the_plain_machine(scaling, share, rng):
    X, y = rng.standard_normal((N, D)), np.where(rng.random(N) < 0.5, 1.0, -1.0)
    gamma = np.array([0.2, 1.0, 3.0])
    found = _Point(X, [Machine(Hinge(), y, share)], Scale(scaling, share), np.log(gamma), None, np.inf)
    plain = MKLClassifier(RBF(gamma.tolist()), tol=1e-8, scaling=scaling).fit(X, y, sample_weight=share)
    assert found.step.upper == pytest.approx(plain.objective_, rel=1e-7)


@scalings
def test_what_the_widths_lower_is_what_the_fit_solves(scaling):
    X, y = make_relevant(60, 2, 1, random_state=0)
    weight = np.random.default_rng(2).uniform(0.2, 5.0, 60)
    model = MKLRegressor(RBF("learn"), loss="squared", C=3.0, scaling=scaling, tol=1e-8, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(model.widths_.objective, rel=1e-3)
    # and no wider or narrower kernel is better
    for factor in (0.8, 1.25):
        other = MKLRegressor(RBF((factor * model.widths_.gamma).tolist()), loss="squared", C=3.0, scaling=scaling)
        assert other.fit(X, y, sample_weight=weight).objective_ > model.objective_ * (1 - 1e-3)


@scalings
def test_widths_of_a_sample_of_weight_two_are_those_of_two_samples(scaling):
    X, y = make_relevant(40, 2, 1, random_state=0)
    times = np.random.default_rng(2).integers(1, 4, 40)
    model = MKLRegressor(RBF("learn"), loss="squared", scaling=scaling, random_state=0)
    weighted = model.fit(X, y, sample_weight=times).widths_
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).widths_
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-4)
    np.testing.assert_allclose(weighted.gamma, repeated.gamma, rtol=1e-2, atol=1e-3 * repeated.gamma.max())


def test_every_start_goes_downhill_only():
    X, y = make_relevant(80, 2, 3, random_state=0)
    found = learn_widths(X, [Machine(Squared(), y, np.ones(80))], n_starts=4, random_state=0)
    assert len(found.histories) == 4
    for history in found.histories:
        assert (np.diff(history) < 0).all()
    assert found.objective == min(history[-1] for history in found.histories)
    assert "not convex" in found.note
    assert "4 start(s)" in found.note
    for history in found.histories:
        assert f"{history[-1]:.6g}" in found.note


def test_the_units_of_the_features_do_not_matter():
    X, y = make_relevant(80, 2, 2, random_state=0)
    units = np.array([1.0, 1e3, 1e-3, 7.0])
    machines = [Machine(Squared(), y, np.ones(80))]
    plain = learn_widths(X, machines, n_starts=1)
    other = learn_widths(X * units + 5.0, machines, n_starts=1)
    np.testing.assert_allclose(other.gamma * units**2, plain.gamma, rtol=1e-4, atol=1e-5 * plain.gamma.max())
    assert other.objective == pytest.approx(plain.objective, rel=1e-5)


def test_a_constant_feature_and_a_short_time():
    X, y = make_relevant(40, 1, 2, random_state=0)
    X[:, 2] = 3.0
    machines = [Machine(Squared(), y, np.ones(40))]
    found = learn_widths(X, machines, n_starts=1)
    assert np.isfinite(found.objective)
    assert found.gamma[2] == 0, "what is constant tells nothing, and must not tell new samples apart"
    assert found.gamma[0] > 0
    hurried = learn_widths(X, machines, n_starts=3, deadline=clock.now() - 1.0)
    assert np.isfinite(hurried.gamma).all()
    assert max(map(len, hurried.histories)) <= 2


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_features_without_meaning_are_left_out(loss):
    X, y = make_relevant(150, n_relevant=2, n_irrelevant=5, random_state=0)
    model = MKLRegressor(RBF("learn"), loss=loss, random_state=0).fit(X, y)
    gamma = model.widths_.gamma * X.var(axis=0)
    assert gamma[0] > gamma[1] > 20 * gamma[2:].max()
    common = MKLRegressor(RBF(), loss=loss).fit(X, y)
    new = make_relevant(500, n_relevant=2, n_irrelevant=5, random_state=1)
    assert model.score(*new) > common.score(*new) + 0.1
    assert model.objective_ < common.objective_


def test_classes_that_two_features_make_together():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 6))
    y = X[:, 1] * X[:, 4] > 0
    model = MKLClassifier(RBF("learn"), loss="logistic", random_state=0).fit(X[:100], y[:100])
    gamma = model.widths_.gamma
    assert gamma[[1, 4]].min() > 50 * gamma[[0, 2, 3, 5]].max()
    assert model.score(X[100:], y[100:]) > MKLClassifier(RBF(), loss="logistic").fit(X[:100], y[:100]).score(
        X[100:], y[100:]
    )


def test_the_model_shows_its_widths_and_its_doubts():
    X, y = make_relevant(60, 1, 2, random_state=0)
    model = MKLRegressor(RBF("learn"), loss="squared", random_state=0).fit(X, y)
    assert model.notes_ == [model.widths_.note]
    assert len(model.widths_.histories) == 3
    again = MKLRegressor(RBF("learn"), loss="squared", random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.widths_.gamma, model.widths_.gamma)
    # what is printed is the kernel that predicts
    assert "learn" not in repr(model.kernel_)
    typed = MKLRegressor(RBF(model.widths_.gamma.tolist()), loss="squared").fit(X, y)
    np.testing.assert_allclose(typed.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)
    assert typed.widths_ is None
    assert typed.notes_ == []


def test_widths_of_some_columns():
    X, y = make_relevant(80, 2, 3, random_state=0)
    part = MKLRegressor(RBF("learn").on([0, 3]), loss="squared", random_state=0).fit(X, y)
    alone = MKLRegressor(RBF("learn"), loss="squared", random_state=0).fit(X[:, [0, 3]], y)
    np.testing.assert_allclose(part.widths_.gamma, alone.widths_.gamma, rtol=1e-10)
    np.testing.assert_allclose(part.predict(X), alone.predict(X[:, [0, 3]]), rtol=1e-6)


def test_a_deadline_leaves_time_for_a_machine(monkeypatch):
    X, y = make_relevant(60, 2, 2, random_state=0)
    monkeypatch.setattr(clock, "now", map(float, itertools.count()).__next__)  # every look takes a second
    model = MKLRegressor(RBF("learn"), loss="squared", max_seconds=60, random_state=0).fit(X, y)
    assert model.converged_, "the widths take a part of the time"
    assert len(model.widths_.histories) < 3
    with pytest.raises(TimeLimitError, match="Raise max_seconds"):
        MKLRegressor(RBF("learn"), loss="squared", max_seconds=1).fit(X, y)


@pytest.mark.parametrize("kernel", [RBF("learn") + Linear(), RBF("learn") * Linear(), 2.0 * RBF("learn"), RBF("fit")])
def test_widths_are_learned_for_one_kernel_alone(kernel, blobs):
    with pytest.raises(InputError, match="Widths are learned for RBF"):
        MKLClassifier(kernel).fit(*blobs)


def test_without_an_estimator_there_is_nothing_to_learn_from(blobs):
    with pytest.raises(InputError, match="has no widths yet: an estimator finds them"):
        RBF("learn")(blobs[0])


@pytest.mark.parametrize(
    ("gamma", "message"), [([1.0], "one gamma ≥ 0 for each"), ([1.0, -1.0, 0.0, 0.0], "one gamma ≥ 0 for each")]
)
def test_widths_that_do_not_fit(gamma, message, blobs):
    with pytest.raises(InputError, match=message):
        MKLClassifier(RBF(gamma)).fit(*blobs)


def test_one_class_machines_do_not_learn_widths(blobs):
    with pytest.raises(InputError, match="a one-class machine has none"):
        MKLOneClass(RBF("learn")).fit(blobs[0])
