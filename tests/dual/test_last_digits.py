"""Bounds where targets lie far from zero: the last digits of Σ coef count as often as the intercept is large."""

import numpy as np

from kernelweave.dual import DualState, Machine
from kernelweave.losses import Squared


def test_a_sum_that_is_off_lowers_the_bound_by_the_intercept_times_it():
    rng = np.random.default_rng(0)
    y = 1e6 + rng.normal(size=20)
    coef = rng.normal(size=20)
    coef -= coef.mean()
    K = np.eye(20) + 1.0
    machine = Machine(Squared(), y, np.full(20, 0.1))
    exact = DualState(coef, K @ coef).certified(machine)
    off = coef + 1e-13
    state = DualState(off, K @ off).certified(machine)
    assert abs(off.sum()) > 1e-13
    # as if every target were nearer to zero: the same problem, with another intercept
    moved = Machine(Squared(), y - 1e6, np.full(20, 0.1))
    true = DualState(off, K @ off).certified(moved).lower
    assert state.lower <= true + 1e-9
    np.testing.assert_allclose(exact.lower, true, atol=1e-5)
