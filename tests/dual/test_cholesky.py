"""Cholesky factors by blocks: those of LAPACK, and an interrupt is heard between two blocks."""

import signal

import numpy as np
import pytest
from scipy.linalg import lapack

from kernelweave.dual import cholesky
from kernelweave.dual.cholesky import factored


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
@pytest.mark.parametrize("block", [1, 3, 8, 100])
def test_the_factor_is_that_of_lapack(n, block):
    Z = np.random.default_rng(n).standard_normal((n, n + 2))
    A = Z @ Z.T
    R = np.triu(factored(A.copy(), block))
    assert np.allclose(R, np.linalg.cholesky(A).T, rtol=1e-8, atol=1e-10)
    b = np.arange(n, dtype=float)
    assert np.allclose(A @ lapack.dpotrs(factored(A.copy(), block), b)[0], b, atol=1e-6)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_a_matrix_without_a_factor_has_none(block):
    A = np.eye(10)
    A[7, 7] = -1.0
    assert factored(A, block) is None


def test_row_10_an_interrupt_is_heard_between_two_blocks(monkeypatch):
    done, real = [], lapack.dpotrf

    def pressed(*args, **options):
        done.append(len(done))
        if len(done) == 2:
            signal.raise_signal(signal.SIGINT)
        return real(*args, **options)

    monkeypatch.setattr(cholesky.lapack, "dpotrf", pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            factored(np.eye(40), 4)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) == 2
