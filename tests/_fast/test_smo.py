import numpy as np
import pytest

from kernelweave._fast.smo import smo, smo_single


def _problem(rng, n, l1, ridge):
    A = rng.normal(size=(n, 5))
    K = np.exp(-0.3 * np.square(A[:, None] - A[None]).sum(axis=2))
    y = rng.choice([-1.0, 1.0], size=n)
    lower, upper = (np.full(n, -2.0), np.full(n, 2.0)) if l1 else (np.minimum(2.0 * y, 0.0), np.maximum(2.0 * y, 0.0))
    return K, np.full(n, ridge), l1, lower, upper, -y


@pytest.mark.parametrize("n", [1, 2, 17, 64, 511, 600])
@pytest.mark.parametrize(("l1", "ridge"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.5), (0.1, 0.5)])
def test_turns_in_single_precision_end_where_those_in_double_do(n, l1, ridge, rng):
    K, ridges, l1, lower, upper, linear = _problem(rng, n, l1, ridge)
    found = []
    for turns, matrix in ((smo, K), (smo_single, K.astype(np.float32))):
        a, g = np.zeros(n), linear.copy()
        _, violation = turns(matrix, ridges, l1, lower, upper, a, g, 1e-4, 100_000)
        assert violation <= 2e-4
        assert abs(a.sum()) < 1e-9
        assert np.all((a >= lower) & (a <= upper))
        # the gradient that comes back is that of the coefficients that come back, for the matrix that was given
        np.testing.assert_allclose(g, matrix.astype(float) @ a + ridges * a + linear, atol=1e-10)
        found.append(0.5 * a @ (K @ a + ridges * a) + linear @ a + l1 * np.abs(a).sum())
    assert found[1] == pytest.approx(found[0], rel=1e-4, abs=1e-6)


def test_turns_in_single_precision_go_on_from_where_others_stopped(rng):
    K, ridge, l1, lower, upper, linear = _problem(rng, 300, 0.0, 0.0)
    single = K.astype(np.float32)
    a, g = np.zeros(300), linear.copy()
    turns, violation = smo_single(single, ridge, l1, lower, upper, a, g, 1e-4, 40)
    assert turns == 40
    assert violation > 1e-4
    before = 0.5 * a @ (g + linear)
    _, violation = smo_single(single, ridge, l1, lower, upper, a, g, 1e-4, 100_000)
    assert violation <= 2e-4
    assert 0.5 * a @ (g + linear) < before


def test_what_is_reported_is_the_violation_of_the_gradient_in_double(rng):
    K, ridge, l1, lower, upper, linear = _problem(rng, 200, 0.0, 0.0)
    a, g = np.zeros(200), linear.copy()
    _, violation = smo_single(K.astype(np.float32), ridge, l1, lower, upper, a, g, 0.0, 3000)
    climb, fall = -g[a < upper], -g[a > lower]
    assert violation == pytest.approx(max(climb.max() - fall.min(), 0.0), rel=1e-12)
