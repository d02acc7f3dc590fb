"""What rounding to single precision may hide: products in double precision, whatever matrices are held in."""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..views import Views
from .base import Gram, apply_at, support_of
from .dense import evaluation_bytes

#: How far a number may be from its rounding to single precision, relative to it.
ROUNDING = 2.0**-24


def safe_quad(gram: Gram, coef: np.ndarray, *, exact: bool = False) -> np.ndarray:
    """Return numbers that coef' K_m coef, summed over machines, is at most, whatever the matrices are held in.

    exact=True computes values of single precision anew, which takes long but gives the least such numbers.
    """
    columns = coef.reshape(gram.n, -1)
    quad = gram.quad(columns).sum(axis=1)
    if not gram.held.single:
        return quad
    support = support_of(columns)
    X, some = gram.X.rows(support), columns[support]
    # rounding changes K_ij by at most r √(K_ii K_jj), r = ROUNDING, and so coef'K coef by r (Σ |coef_i| √K_ii)²
    roots = np.sqrt(np.maximum(gram.only(gram.held.single).diag_each()[:, support], 0.0))
    hidden = ROUNDING * ((roots @ np.abs(some)) ** 2).sum(axis=1)
    for m, most in zip(gram.held.single, hidden, strict=True):
        term = gram.terms[m]
        if exact and not term.stored:
            quad[m] = gram.factors[m] * float((_anew(term, X, some, X, gram.n) * some).sum())
        else:
            quad[m] += gram.factors[m] * most
    return quad


def exact_apply(gram: Gram, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ_m weights[m] K_m @ coef in double precision, whatever the matrices are held in."""
    anew = [m for m in gram.held.single if weights[m] and not gram.terms[m].stored]
    if not anew:
        return gram.apply(coef, weights)
    as_held = weights.copy()
    as_held[anew] = 0.0
    support, out = support_of(coef.reshape(gram.n, -1)), gram.apply(coef, as_held)
    X, some = gram.X.rows(support), coef[support]
    for m in anew:
        out += weights[m] * gram.factors[m] * _anew(gram.terms[m], X, some, gram.X, gram.n)
    return out


def _anew(term: Kernel, X: Views, coef: np.ndarray, at: Views, n: int) -> np.ndarray:
    """Return k(at, X) @ coef, from values that are evaluated as those of the matrix of n samples were."""
    return apply_at(term, X, coef, at, evaluation_bytes([term], n))
