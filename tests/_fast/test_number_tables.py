"""Rows of numbers times vectors, against what NumPy says."""

import numpy as np
import pytest

from kernelweave._fast.coordinate import visit, visit_table
from kernelweave._fast.number_tables import table_squares, table_sums, table_times
from kernelweave.gram import DenseFeatureGram
from kernelweave.kernels import Linear
from kernelweave.views import as_views


@pytest.fixture(params=[np.float32, np.float64])
def table(request, rng):
    return rng.normal(size=(30, 7)).astype(request.param)


def test_times_sums_and_squares(table, rng):
    rows, vectors, coef = rng.permutation(30)[:20], rng.normal(size=(3, 7)), rng.normal(size=(20, 3))
    coef[3:6] = 0.0
    out, sums = np.empty((20, 3)), np.ones((3, 7))
    table_times(table, rows, vectors, out)
    np.testing.assert_allclose(out, table[rows].astype(np.float64) @ vectors.T, rtol=1e-12)
    table_sums(table, rows, coef, sums)
    np.testing.assert_allclose(sums, 1.0 + coef.T @ table[rows].astype(np.float64), atol=1e-12)
    squares, centre, starts = np.empty((3, 10)), rng.normal(size=7), np.array([0, 2, 2, 7])
    table_squares(table, 5, centre, starts, squares)
    whole = (table[5:15] + centre) ** 2
    expected = [whole[:, :2].sum(axis=1), np.zeros(10), whole[:, 2:].sum(axis=1)]
    np.testing.assert_allclose(squares, expected, rtol=1e-12)


def test_visits_of_a_table_are_those_of_any_space(rng):
    n = 40
    gram = DenseFeatureGram([Linear()], as_views(rng.normal(size=(n, 5)) + 2.0))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    lower, upper = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    found = []
    for short in (True, False):
        descent, a, samples = gram.coordinates(np.arange(n)).at(np.array([0.7])), np.zeros(n), np.arange(n)[::-1].copy()
        rest = (-y, 0.1 * np.ones(n), 0.05, lower, upper, a, samples, 0.3, 0.1, 0.0, 1e-3)
        space = descent.spaces[0]
        if short:
            result = visit_table(space.table, space.which, space.vector, descent.diag, *rest)
        else:
            result = visit(descent.spaces, descent.alone, descent.diag, *rest)
        found.append((*result, a, samples, space.vector[0].copy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
