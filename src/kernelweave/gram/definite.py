"""Terms that only a trial shows to be kernels, such as plain functions, are tried on the training samples."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..kernels import Kernel
from ..kernels.definite import PSD_TOLERANCE, SINGLE_TOLERANCE, lowest_eigenvalue, some_samples, unproven
from ..views import Views
from .base import Gram
from .dense import DenseGram

#: Samples whose values are asked for alone, against so many others, and must be those of the whole matrix.
FEW, OTHERS = 8, 64


def check_definite(gram: Gram) -> Gram:
    """Return the gram, or say which of its terms is no kernel: not symmetric, or not positive semi-definite.

    Terms made of the library's own kernels are positive semi-definite by construction, and cost nothing here.
    """
    for m, term in enumerate(gram.terms):
        if unproven(term):
            _check_term(gram, m, term)
    return gram


def _check_term(gram: Gram, m: int, term: Kernel) -> None:
    from .._fast.dense import size_and_skew

    n, one = gram.n, np.ones(1)
    rows = some_samples(n)
    alone, tolerance = _few_alone(term, gram.X, rows)
    own = gram.only([m]).rescaled(one)
    held = isinstance(own, DenseGram)
    tolerance = max(tolerance, SINGLE_TOLERANCE) if own.held.single else tolerance
    K = own.block(rows, rows, one) if held else _real(term, term.compute(gram.X.rows(rows), None), (len(rows),) * 2)
    scale, skew = size_and_skew(K)
    few, others = (_spread(len(rows), count) for count in alone.shape)
    if skew > tolerance * scale:
        raise InputError(
            f"The term {term!r} is no kernel: k(x, y) and k(y, x) differ by up to {skew:.3g}. A kernel is symmetric; "
            "(f(X, Y) + f(Y, X).T) / 2 is, if that is what you mean."
        )
    if np.abs(alone - K[np.ix_(few, others)]).max(initial=0.0) > SINGLE_TOLERANCE * scale:
        raise InputError(
            f"The term {term!r} is no kernel: its values for a pair of samples depend on which other samples it is "
            "given with them. Compute what it takes from all samples beforehand."
        )

    def times(V: np.ndarray) -> np.ndarray:
        return own.apply(V, one)

    lowest = lowest_eigenvalue(K, scale, n, None if n == len(rows) else times, tolerance)
    if lowest < 0:
        raise InputError(
            f"The term {term!r} is not positive semi-definite on these samples: its lowest eigenvalue is about "
            f"{lowest:.3g}, so no certificate would hold. Use another kernel, Precomputed(K, psd='clip') with its "
            "matrix, or Function(f, psd='ignore') to go on regardless."
        )


def _spread(n: int, count: int) -> np.ndarray:
    """Return `count` of n numbers, evenly spread; all where there are no more."""
    return np.linspace(0, n - 1, min(n, count)).astype(np.int64)


def _few_alone(term: Kernel, X: Views, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a few values of the matrix of `rows`, computed alone, and what rounding may do to such numbers."""
    few, others = (rows[_spread(len(rows), count)] for count in (FEW, OTHERS))
    found = _real(term, term.compute(X.rows(few), X.rows(others)), (len(few), len(others)))
    return found, SINGLE_TOLERANCE if found.dtype == np.float32 else PSD_TOLERANCE


def _real(term: Kernel, K: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    K = np.asarray(K)
    if K.shape != shape or K.dtype.kind not in "fiub":
        raise InputError(f"The term {term!r} must give numbers, of shape {shape}; it gave {K.shape}, {K.dtype}.")
    if not np.isfinite(K).all():
        raise InputError(f"The term {term!r} gives NaN or infinity on these samples.")
    return K if K.dtype.kind == "f" else K.astype(np.float64)
