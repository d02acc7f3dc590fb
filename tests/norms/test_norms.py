"""Norms: one convex set of weights each."""

import numpy as np
import pytest

from kernelweave import InputError
from kernelweave.norms import NORMS, Fixed, LpNorm, Simplex, as_norm
from kernelweave.testing import check_norm


@pytest.mark.parametrize("kind", NORMS)
def test_every_norm_keeps_its_promises(kind):
    check_norm(kind())
    check_norm(kind(), n_terms=1)


@pytest.mark.parametrize("norm", [LpNorm(1.01), LpNorm(1.5), LpNorm(50.0), Fixed(np.arange(5.0))])
def test_other_parameters(norm):
    check_norm(norm)


class Low(Simplex):
    def dual_norm(self, quad):
        return 0.9 * super().dual_norm(quad)


class Even(Simplex):
    def closed_form(self, norms):
        return np.full(len(norms), 1 / len(norms))


class Loud(LpNorm):
    def start(self, n_terms):
        return np.ones(n_terms)


@pytest.mark.parametrize(
    ("norm", "message"), [(Low(), "closed_form leaves"), (Even(), "closed_form gives"), (Loud(), "start is not")]
)
def test_a_broken_norm_is_found(norm, message):
    with pytest.raises(AssertionError, match=message):
        check_norm(norm)


def test_the_dual_norm_bounds_a_grid():
    quad = np.array([0.3, 1.0, 0.2])
    grid = np.random.default_rng(0).random((20_000, 3))
    for p in (1.0, 1.5, 2.0):
        weights = grid / (grid**p).sum(axis=1, keepdims=True) ** (1 / p)
        best = (weights @ quad).max()
        assert best <= as_norm(p).dual_norm(quad) <= 1.02 * best


def test_names_and_numbers():
    assert isinstance(as_norm(1), Simplex)
    assert as_norm(1.5).p == 1.5
    assert isinstance(as_norm("fixed"), Fixed)
    norm = Fixed([1.0, 2.0])
    assert as_norm(norm) is norm


@pytest.mark.parametrize("norm", [0.5, 0, -1, np.inf, np.nan, "l2", None, True])
def test_other_norms_are_refused(norm):
    with pytest.raises(InputError, match="norm must be"):
        as_norm(norm)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_fixed_weights_must_fit(weights):
    with pytest.raises(InputError, match="Fixed needs 2 finite weights"):
        Fixed(weights).start(2)
