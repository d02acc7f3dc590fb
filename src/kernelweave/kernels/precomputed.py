"""Kernels given as matrices or as functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..views import Views
from .base import Kernel
from .definite import PSD_TOLERANCE, SINGLE_TOLERANCE, lowest_eigenvalue, some_samples
from .values import shown


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """A kernel on integer ids: k(i, j) = K[i, j].

    X is a column of row numbers of K, so cross-validation slices it right. K may have more
    rows than columns: the first rows and the columns are the training samples, the other
    rows are new samples, each known only by its similarity to the training samples.

    Parameters
    ----------
    K : array of shape (n_rows, n_train), n_rows ≥ n_train
        Never copied, not even by `sklearn.base.clone`, in double or in single precision; also one that
        ``numpy.load(path, mmap_mode="r")`` maps from a file.
    name : str or None
        How it prints; by default a short digest of its content.
    psd : {"error", "clip", "ignore"}
        What to do with a matrix that has negative eigenvalues: refuse it, set them to zero,
        or go on (solvers still end, but the certificate no longer holds). Up to 2,000 training samples are proven
        to have none; of more, a random part of 2,000 is, and a search over all finds large ones in two passes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import Precomputed
    >>> Precomputed(np.eye(3), name="identity")([0, 1], [1, 2])
    array([[0., 0.],
           [1., 0.]])
    """

    K: Any = None
    name: str | None = None
    psd: str = "error"
    reads = "ids"
    stored = True
    definite = True  # checked, or ignored at the user's wish, by itself

    def __sklearn_clone__(self) -> Precomputed:
        twin = type(self)(self.K, self.name, self.psd)
        twin._known = self._known
        return twin

    def __post_init__(self) -> None:
        self._known: Any = None  # the checked (and maybe clipped) matrix, with what it was made from

    @property
    def label(self) -> str:
        """The name it prints under."""
        if self.name is not None or self.K is None:
            return self.name or "?"
        K = np.asarray(self.K)
        sample = np.ascontiguousarray(K[tuple(slice(None, None, max(1, size // 256)) for size in K.shape)])
        return "K" + hashlib.blake2b(repr(K.shape).encode() + sample.tobytes(), digest_size=4).hexdigest()

    @property
    def matrices(self) -> dict[str, Any]:
        return {self.label: self.K}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        psd = "" if self.psd == "error" else f", psd={self.psd!r}"
        return f"Precomputed(name={self.label!r}{psd})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Precomputed):
            return NotImplemented
        same = self.K is other.K or (self.K is not None and other.K is not None and np.array_equal(self.K, other.K))
        return same and (self.label, self.psd) == (other.label, other.psd)

    __hash__ = Kernel.__hash__

    def matrix(self) -> np.ndarray:
        """Return the checked matrix."""
        if self._known is None or self._known[0] is not self.K or self._known[1] != self.psd:
            self._known = (self.K, self.psd, _checked(self.K, self.psd, repr(self)))
        return self._known[2]

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        K, rows = self.matrix(), self._ids(X)
        cols = rows if Y is None else self._ids(Y)
        if _is_all(rows, K.shape[0]) and _is_all(cols, K.shape[1]):
            return K
        return _pick(K, rows, cols, repr(self))

    def compute_diag(self, X: Views) -> np.ndarray:
        K, ids = self.matrix(), self._ids(X)
        if (ids >= K.shape[1]).any():
            raise InputError(
                f"{self!r} does not know k(x, x) of id {int(ids[ids >= K.shape[1]][0])}: not a column of K."
            )
        return np.asarray(K[ids, ids], dtype=np.float64)

    def _ids(self, X: Views) -> np.ndarray:
        ids, n_rows = X.ids(), self.matrix().shape[0]
        wrong = (ids < 0) | (ids >= n_rows)
        if wrong.any():
            raise InputError(f"Id {int(ids[wrong][0])} is not a row of {self!r}, which has {n_rows} (ids start at 0).")
        return ids


def _is_all(ids: np.ndarray, n: int) -> bool:
    return len(ids) == n and bool((ids == np.arange(n)).all())


def _pick(K: np.ndarray, rows: np.ndarray, cols: np.ndarray, name: str) -> np.ndarray:
    if (cols < K.shape[1]).all():
        return K[np.ix_(rows, cols)]
    if (rows < K.shape[1]).all():
        return K[np.ix_(cols, rows)].T
    raise InputError(
        f"{name} has {K.shape[1]} columns, so it does not know the similarity of two new samples to each other. "
        "Train on ids below that, and predict on the others."
    )


def _checked(K: Any, psd: str, name: str) -> np.ndarray:
    from .._fast.dense import size_and_skew

    if K is None:
        raise InputError(
            f"{name} was read from text and has no matrix; pass it with parse(text, matrices={{name: K}})."
        )
    if psd not in ("error", "clip", "ignore"):
        raise InputError(f'psd must be "error", "clip" or "ignore"; got {psd!r}.')
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] < K.shape[1] or K.dtype.kind not in "fiub":
        raise InputError(
            f"{name} needs a square matrix of numbers (or more rows than columns, the rows below being new samples); "
            f"got shape {K.shape}, {K.dtype}. A test kernel is shaped (n_test, n_train): stack it below the training "
            "one."
        )
    if K.dtype not in (np.float64, np.float32):
        K = K.astype(np.float64)
    train = K[: K.shape[1]]
    # what rounding to single precision leaves is asked to be clipped where clipping is asked for
    tolerance = SINGLE_TOLERANCE if K.dtype == np.float32 else PSD_TOLERANCE
    scale, skew = size_and_skew(train)
    if not np.isfinite(scale) or not np.isfinite(K[K.shape[1] :]).all():
        row, column = np.argwhere(~np.isfinite(K))[0]
        raise InputError(f"{name} holds NaN or infinity, first at K[{row}, {column}].")
    if skew > tolerance * scale:
        raise InputError(
            f"{name} is not symmetric: |K - K'| reaches {skew:.3g}. Use (K + K.T) / 2 if that is what you mean."
        )
    if psd == "ignore":
        return K
    rows, n = some_samples(len(train)), len(train)
    part = train if len(rows) == n else train[np.ix_(rows, rows)]
    whole = None if part is train else lambda V: np.asarray(train @ V.astype(train.dtype), dtype=np.float64)
    lowest = lowest_eigenvalue(part, scale, n, whole, tolerance if psd == "error" else PSD_TOLERANCE)
    if lowest >= 0:
        return K
    if psd == "clip":
        return _clipped(K)
    raise InputError(
        f"{name} is not positive semi-definite: its lowest eigenvalue is about {lowest:.3g}. "
        'Use Precomputed(K, psd="clip") to set negative eigenvalues to zero, or psd="ignore" to go on regardless.'
    )


def _clipped(K: np.ndarray) -> np.ndarray:
    # in double precision: rounded to single, it would have negative eigenvalues again, large beside a centred kernel
    K = K.astype(np.float64)
    values, vectors = np.linalg.eigh(K[: K.shape[1]])
    positive = vectors[:, values > 0]
    return (K @ positive) @ positive.T  # on the training block this is V max(λ, 0) V'


@dataclass(eq=False, repr=False)
class Function(Kernel):
    """A kernel given by a plain function f(X, Y) that returns the matrix.

    It prints under its function's name, so it cannot be typed back or kept in a model file. An estimator tries it on
    the training samples: f must be symmetric and positive semi-definite.

    Parameters
    ----------
    function : callable
        f(X, Y) -> array of shape (len(X), len(Y)).
    psd : {"error", "ignore"}
        Refuse a function that is not symmetric or has negative eigenvalues on the training samples, or go on (solvers
        still end, but the certificate no longer holds).
    """

    function: Callable[[Any, Any], Any]
    psd: str = "error"
    says_all = False

    @property
    def definite(self) -> bool:  # type: ignore[override]
        if self.psd not in ("error", "ignore"):
            raise InputError(
                f'psd of a function must be "error" or "ignore"; got {shown(self.psd)}. To clip negative eigenvalues, '
                'give the matrix: Precomputed(K, psd="clip").'
            )
        return self.psd == "ignore"

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        other = X if Y is None else Y
        K = self.function(X.native(), other.native())
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K)
        if K.shape != (len(X), len(other)):
            raise InputError(f"{self!r} must return a matrix of shape {(len(X), len(other))}; it returned {K.shape}.")
        if K.dtype.kind not in "fiub":
            raise InputError(f"{self!r} must return real numbers; it returned {K.dtype}.")
        if not np.isfinite(K).all():
            row, column = np.argwhere(~np.isfinite(K))[0]
            raise InputError(f"{self!r} returned NaN or infinity, first at [{row}, {column}].")
        return K if K.dtype in (np.float64, np.float32) else K.astype(np.float64)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        psd = "" if self.psd == "error" else f", psd={self.psd!r}"
        return f"Function({getattr(self.function, '__name__', type(self.function).__name__)}{psd})"
