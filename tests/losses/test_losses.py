"""Losses: convex, with the conjugate, record and intercept that belong to them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import naive
from kernelweave import CustomLoss, InputError
from kernelweave.losses import LOSSES, BoxQP, EpsilonInsensitive, Hinge, SmoothHinge, as_loss
from kernelweave.losses.base import kink_minimum, rising_root
from kernelweave.testing import check_loss
from kernelweave.testing.losses import targets

HUBER = CustomLoss(
    value=lambda y, f: np.where(np.abs(y - f) <= 1, 0.5 * (y - f) ** 2, np.abs(y - f) - 0.5) + 0.01 * (y - f) ** 2,
    slope=lambda y, f: np.clip(f - y, -1, 1) + 0.02 * (f - y),
    conjugate=lambda y, s: s * y + np.where(np.abs(s) <= 1.02, s**2 / 2.04, 0.5 + 25 * (np.abs(s) - 1) ** 2),
)
EXPONENTIAL = CustomLoss(
    value=lambda y, f: np.exp(-y * f),
    slope=lambda y, f: -y * np.exp(-y * f),
    conjugate=lambda y, s: -y * s * (np.log(np.maximum(-y * s, 1e-300)) - 1),
    curvature=lambda y, f: np.exp(-y * f),
    reads="labels",
)


@pytest.mark.parametrize("kind", LOSSES)
def test_every_loss_keeps_its_promises(kind):
    check_loss(kind())


@pytest.mark.parametrize(
    "loss", [HUBER, EXPONENTIAL, SmoothHinge(0.5), SmoothHinge(50.0), EpsilonInsensitive(0.0), EpsilonInsensitive(2.0)]
)
def test_other_parameters_and_losses_of_ones_own(loss):
    check_loss(loss)


class Doubled(Hinge):
    def conjugate(self, y, coef, C):
        return 2 * super().conjugate(y, coef, C)


class Shifted(Hinge):
    def intercept(self, y, f, C):
        return super().intercept(y, f, C) + 0.1


class Concave(Hinge):
    def value(self, y, f):
        return -super().value(y, f)


class Wide(Hinge):
    def value(self, y, f):
        return np.maximum(0, 1.1 - y * f)


@pytest.mark.parametrize(
    ("loss", "message"),
    [(Doubled(), "do not agree"), (Shifted(), "intercept"), (Concave(), "not convex"), (Wide(), "conjugate is")],
)
def test_a_broken_loss_is_found(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


@pytest.mark.parametrize("loss", [kind() for kind in LOSSES if kind.differentiable] + [SmoothHinge(50.0), HUBER])
def test_allowed_coefficients_are_those_with_a_finite_conjugate(loss, rng):
    y, C = targets(loss, 200, rng), rng.uniform(0.5, 2.0, 200)
    coef = 3.0 * rng.normal(size=200)
    # sup_f (−coef f − C value) is infinite where it grows towards one of the ends
    grows = [(-coef * end - C * loss.value(y, np.full(200, end)) > 1e4).tolist() for end in (-1e7, 1e7)]
    np.testing.assert_array_equal(loss.allows(y, coef, C), ~np.any(grows, axis=0))
    first, second = loss.derivatives(y, coef)
    np.testing.assert_allclose(first, loss.slope(y, coef), rtol=1e-12)
    np.testing.assert_allclose(second, loss.curvature(y, coef), rtol=1e-9, atol=1e-12)
    assert loss.allows(y, -C * first, C).all()


def test_smooth_hinge_becomes_the_hinge():
    y, f = np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.2, 4.0])
    np.testing.assert_allclose(SmoothHinge(1e4).value(y, f), Hinge().value(y, f), atol=1e-4)


def test_smooth_losses_survive_far_values():
    y, f = np.array([1.0, -1.0]), np.array([-1e6, -1e6])
    loss = SmoothHinge(5.0)
    assert np.isfinite(loss.value(y, f)).all()
    assert np.isfinite(loss.slope(y, f)).all()
    qp = loss.dual(y, np.ones(2), f)
    assert np.isfinite(qp.ridge).all()
    assert np.isfinite(qp.linear).all()


numbers = st.floats(-10, 10, allow_nan=False)


@given(st.lists(st.tuples(numbers, st.floats(0, 5)), min_size=1, max_size=12), st.floats(0.05, 0.95))
def test_kink_minimum_against_every_kink(pairs, share):
    points, jumps = map(np.array, zip(*pairs, strict=True))
    if jumps.sum() < 1e-3:
        return
    slope = -share * jumps.sum()
    best = min(naive.kinked(points, jumps, slope, x) for x in points)  # lowest at a kink
    found = naive.kinked(points, jumps, slope, kink_minimum(points, jumps, slope))
    assert found <= best + 1e-9 * (1 + abs(best))


def test_kink_minimum_is_the_middle_of_a_flat_stretch():
    assert kink_minimum(np.array([0.0, 3.0]), np.array([1.0, 1.0]), -1.0) == 1.5
    assert kink_minimum(np.array([3.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]), -1.0) == 1.5


@given(st.lists(numbers, min_size=1, max_size=6), st.floats(0.01, 10), st.floats(-50, 50))
def test_rising_root_against_a_search(centres, width, start):
    centres = np.array(centres)

    def slope(x):
        return np.arctan(x - centres).sum(), (1 / (1 + (x - centres) ** 2)).sum()

    def antiderivative(x):
        z = x - centres
        return (z * np.arctan(z) - 0.5 * np.log1p(z**2)).sum()

    root = rising_root(slope, start, width)
    best = minimize_scalar(antiderivative, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
    assert antiderivative(root) <= best.fun + 1e-9


def test_rising_root_ends_where_there_is_none():
    assert np.isfinite(rising_root(lambda x: (-1.0, 0.0), 0.0, 1.0))


@given(st.integers(1, 9), st.integers(0, 10**6), st.sampled_from([0.0, 1.0]), st.booleans())
@example(n=2, seed=3373, total=0.0, near=True)  # rounded past a bound once
def test_feasible_points_are_feasible(n, seed, total, near):
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 1, n) * (total == 0), rng.uniform(0.2, 1, n)
    upper *= 1.2 / upper.sum() if total else 1.0
    qp = BoxQP(np.zeros(n), np.zeros(n), 0.0, lower, upper, total)
    a = qp.feasible(3 * rng.normal(size=n) if near else None)
    assert (a >= lower).all()
    assert (a <= upper).all()
    assert abs(a.sum() - total) <= 1e-9


def test_names_and_instances():
    assert as_loss("hinge", ("labels",)) == Hinge()
    assert as_loss("epsilon_insensitive", ("numbers",), epsilon=0.3) == EpsilonInsensitive(0.3)
    assert as_loss(HUBER, ("numbers",)) is HUBER
    assert Hinge() != SmoothHinge()
    assert repr(SmoothHinge(2)) == "SmoothHinge(sigma=2.0)"


@pytest.mark.parametrize("loss", ["hinge loss", "squared", None, 3, HUBER])
def test_losses_of_another_task_are_refused(loss):
    with pytest.raises(InputError, match="hinge"):
        as_loss(loss, ("labels",))


@pytest.mark.parametrize(
    "make", [lambda: EpsilonInsensitive(-0.1), lambda: SmoothHinge(0.0), lambda: SmoothHinge(np.nan)]
)
def test_bad_parameters(make):
    with pytest.raises(InputError, match="must be a finite number"):
        make()
