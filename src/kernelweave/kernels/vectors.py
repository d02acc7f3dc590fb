"""Kernels on numbers: linear, polynomial, Gaussian and Laplacian."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..views import Views
from .base import Kernel
from .embedding import MAX_SIZE, monomials
from .forms import DISTANCES, PRODUCTS, SQUARES, Form
from .gaps import expected_rbf, expected_rbf_diag
from .values import MAX_POWER, real_number, real_numbers, shown

#: Up to this many columns, distances are summed directly (exact, symmetric to the last bit);
#: above, through one matrix product, which is then quicker.
DIRECT_COLUMNS = 32


class VectorKernel(Kernel):
    """A kernel on rows of numbers; subclasses say `between` and `within`."""

    reads = "numbers"

    def between(self, A: Any, B: Any) -> np.ndarray:
        """Return k of every row of A with every row of B."""
        raise NotImplementedError

    def within(self, A: Any) -> np.ndarray:
        """Return k of every row of A with itself."""
        raise NotImplementedError

    def expected(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return k where numbers are missing (NaN) in columns of mean 0 and variance 1: here, k at the mean."""
        return self.between(np.nan_to_num(A), np.nan_to_num(B))

    def expected_within(self, A: np.ndarray) -> np.ndarray:
        """Return the diagonal of `expected`."""
        return self.within(np.nan_to_num(A))

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        A = X.matrix()
        B = A if Y is None else Y.matrix()
        if A.shape[1] != B.shape[1]:
            raise InputError(f"X has {A.shape[1]} columns, but Y has {B.shape[1]}; they must agree.")
        return self.between(A, B)

    def compute_diag(self, X: Views) -> np.ndarray:
        return self.within(X.matrix())


@dataclass(eq=False, repr=False)
class Linear(VectorKernel):
    """k(x, y) = x·y."""

    definite = True
    gram_kind = "vectors"

    def form(self, n_columns: int) -> Form:
        return Form(PRODUCTS, 1.0, degree=1)

    def between(self, A: Any, B: Any) -> np.ndarray:
        return dots(A, B)

    def within(self, A: Any) -> np.ndarray:
        return squares(A)

    def embedding_size(self, X: Views) -> int | None:
        return _few_columns(X, lambda d: d)

    def embed(self, X: Views) -> np.ndarray:
        return np.asarray(X.matrix())


@dataclass(eq=False, repr=False)
class Polynomial(VectorKernel):
    """k(x, y) = (gamma x·y + coef0)^degree.

    Parameters
    ----------
    degree : int
        At least 1.
    gamma : float or None
        Scale of the product; None for 1 / number of columns.
    coef0 : float
        Weight of the lower degrees, at least 0.
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0
    definite = True
    always_shown = ("degree",)

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        return "vectors" if self.degree == 2 else "dense"

    def form(self, n_columns: int) -> Form:
        degree, coef0 = self._checked()
        return Form(PRODUCTS, _gamma(self, n_columns), coef0, degree)

    def between(self, A: Any, B: Any) -> np.ndarray:
        return self._power(dots(A, B), A.shape[1])

    def within(self, A: Any) -> np.ndarray:
        return self._power(squares(A), A.shape[1])

    def embedding_size(self, X: Views) -> int | None:
        return _few_columns(X, lambda d: (d + 1) * (d + 2) // 2) if self.degree == 2 else None

    def embed(self, X: Views) -> np.ndarray:
        A = np.asarray(X.matrix())
        _, coef0 = self._checked()
        return monomials(A, _gamma(self, A.shape[1]), coef0)

    def _checked(self) -> tuple[int, float]:
        if not (isinstance(self.degree, numbers.Integral) and 1 <= self.degree <= MAX_POWER):
            raise InputError(f"Polynomial needs a whole degree from 1 to {MAX_POWER:,}; got {shown(self.degree)}.")
        coef0 = real_number(self.coef0)
        if not 0 <= coef0 < np.inf:
            raise InputError(f"Polynomial needs coef0 ≥ 0, or it is not a kernel; got {shown(self.coef0)}.")
        return int(self.degree), coef0

    def _power(self, products: np.ndarray, n_columns: int) -> np.ndarray:
        degree, coef0 = self._checked()
        products *= _gamma(self, n_columns)
        products += coef0
        with np.errstate(over="ignore"):  # infinities are reported, with the term's name, where the gram is bound
            return products**degree


@dataclass(eq=False, repr=False)
class RBF(VectorKernel):
    """k(x, y) = exp(−gamma ‖x − y‖²), or exp(−Σ_c gamma_c (x_c − y_c)²) with a width per column.

    Parameters
    ----------
    gamma : float, list of float, "learn" or None
        Inverse squared width, one for all columns or one for each (0 leaves a column out); None for
        1 / number of columns. With "learn", an estimator finds one for each column.
    """

    gamma: Any = None
    definite = True

    @property
    def learns_width(self) -> bool:  # type: ignore[override]
        return isinstance(self.gamma, str)

    def form(self, n_columns: int) -> Form | None:
        if isinstance(self.gamma, (list, tuple, np.ndarray)):
            return Form(SQUARES, 1.0, stretch=tuple(np.sqrt(_gammas(self.gamma, n_columns)).tolist()))
        return None if self.learns_width else Form(SQUARES, _gamma(self, n_columns))

    def between(self, A: Any, B: Any) -> np.ndarray:
        if isinstance(self.gamma, (list, tuple, np.ndarray)):
            roots = np.sqrt(_gammas(self.gamma, A.shape[1]))
            A, B = (M.multiply(roots).tocsr() if sparse.issparse(M) else M * roots for M in (A, B))
            return _exponential(squared_distances(A, B), -1.0)
        if isinstance(self.gamma, str):
            raise InputError(f"{self!r} has no widths yet: an estimator finds them; its kernel_ shows them.")
        return _exponential(squared_distances(A, B), -_gamma(self, A.shape[1]))

    def within(self, A: Any) -> np.ndarray:
        return np.ones(A.shape[0])

    def expected(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return expected_rbf(A, B, self._each_gamma(A.shape[1]))

    def expected_within(self, A: np.ndarray) -> np.ndarray:
        return expected_rbf_diag(A, self._each_gamma(A.shape[1]))

    def _each_gamma(self, n_columns: int) -> np.ndarray:
        if isinstance(self.gamma, (list, tuple, np.ndarray)):
            return _gammas(self.gamma, n_columns)
        return np.full(n_columns, _gamma(self, n_columns))


@dataclass(eq=False, repr=False)
class Laplacian(VectorKernel):
    """k(x, y) = exp(−gamma Σ|x_j − y_j|).

    Parameters
    ----------
    gamma : float or None
        Inverse width; None for 1 / number of columns.
    """

    gamma: float | None = None
    definite = True

    def form(self, n_columns: int) -> Form:
        return Form(DISTANCES, _gamma(self, n_columns))

    def between(self, A: Any, B: Any) -> np.ndarray:
        return _exponential(absolute_distances(A, B), -_gamma(self, A.shape[1]))

    def within(self, A: Any) -> np.ndarray:
        return np.ones(A.shape[0])


def _few_columns(X: Views, size: Callable[[int], int]) -> int | None:
    """Return how many numbers φ has, which depends on the columns; None where they are sparse, or that is too many."""
    A = X.rows(np.arange(min(1, len(X)))).matrix()
    return None if sparse.issparse(A) or size(A.shape[1]) > MAX_SIZE else size(A.shape[1])


def _gamma(kernel: RBF | Laplacian | Polynomial, n_columns: int) -> float:
    if kernel.gamma is None:
        return 1.0 / max(n_columns, 1)
    gamma = real_number(kernel.gamma)
    if not 0 < gamma < np.inf:
        given = shown(kernel.gamma)
        raise InputError(f"{type(kernel).__name__} needs gamma > 0 (or None for 1 / columns); got {given}.")
    return gamma


def _gammas(gamma: Any, n_columns: int) -> np.ndarray:
    values = real_numbers(gamma)
    if values.shape != (n_columns,) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(f"RBF needs one gamma ≥ 0 for each of the {n_columns} columns; got {shown(gamma)}.")
    return values


def dots(A: Any, B: Any) -> np.ndarray:
    """Return x·y of all rows of A and B, dense or sparse."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = A @ B.T
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def squares(A: Any) -> np.ndarray:
    """Return x·x of all rows."""
    with np.errstate(over="ignore"):
        found = A.multiply(A).sum(axis=1) if sparse.issparse(A) else np.einsum("ij,ij->i", A, A)
    return np.asarray(found).ravel()


def _exponential(distances: np.ndarray, factor: float) -> np.ndarray:
    distances *= factor
    return np.exp(distances, out=distances)


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """Return ‖x − y‖² of all rows of A and B, dense or sparse."""
    if not sparse.issparse(A) and not sparse.issparse(B):
        if A.shape[1] <= DIRECT_COLUMNS:
            from .._fast.vectors import squared_distances as quick

            return quick(np.ascontiguousarray(A), np.ascontiguousarray(B.T))
        centre = B.mean(axis=0)  # distances do not move, but far less is lost to cancellation
        A, B = A - centre, B - centre
    distances = dots(A, B)
    distances *= -2.0
    distances += squares(A)[:, None]
    distances += squares(B)
    return np.maximum(distances, 0.0, out=distances)


def absolute_distances(A: Any, B: Any) -> np.ndarray:
    """Return Σ|x_c − y_c| of all rows of A and B, dense or sparse."""
    if sparse.issparse(A) or sparse.issparse(B):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(A, B)
    from .._fast.vectors import absolute_distances as quick

    return quick(np.ascontiguousarray(A), np.ascontiguousarray(B.T))
