"""What rounding to single precision may hide: products in double precision, whatever matrices are held in."""

from __future__ import annotations

import numpy as np

from .base import Gram, support_of


def safe_quad(gram: Gram, coef: np.ndarray, *, exact: bool = False) -> np.ndarray:
    """Return numbers that coef' K_m coef, summed over machines, is at most, whatever the matrices are held in.

    exact=True computes values of single precision anew, which takes long but gives the least such numbers.
    """
    columns = coef.reshape(gram.n, -1)
    quad = gram.quad(columns).sum(axis=1)
    rough = gram.held.rough
    if not rough:
        return quad
    support = support_of(columns)
    hidden = gram.only(rough).hidden(columns)
    for m, most in zip(rough, hidden, strict=True):
        if exact and not gram.terms[m].stored:
            quad[m] = gram.factors[m] * float((gram.anew(m, columns, support) * columns[support]).sum())
        else:
            quad[m] += gram.factors[m] * most
    return quad


def exact_apply(gram: Gram, coef: np.ndarray, weights: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
    """Return Σ_m weights[m] K_m[at] @ coef in double precision, whatever matrices are held in; all rows for None."""
    exact = gram.in_double()
    if exact is not None and at is not None:
        support = support_of(coef)
        return exact.some_times(at, support, coef[support], weights)
    if exact is not None:
        return exact.apply(coef, weights)
    if at is not None:
        return exact_apply(gram, coef, weights)[at]
    anew = [m for m in gram.held.single if weights[m] and not gram.terms[m].stored]
    if not anew:
        return gram.apply(coef, weights)
    as_held = weights.copy()
    as_held[anew] = 0.0
    out = gram.apply(coef, as_held)
    for m in anew:
        out += weights[m] * gram.factors[m] * gram.anew(m, coef)
    return out
