"""Supervised pre-clustering: near samples with like targets become one."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KDTree, NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..kernels import Kernel, as_kernel
from ..validation import check_numbers
from ..views import Views, as_views

#: Samples whose pairs show how quickly the target changes.
MAX_PROBES = 2000
#: Landmarks by which samples are found under a kernel's own distance.
N_LANDMARKS = 8
#: Neighbours that are looked up at a time.
MAX_FOUND = 2_000_000


class PreClustering(BaseEstimator):
    """Keep one sample of every group of near ones whose targets differ by less than epsilon.

    A continuous function on a compact set is uniformly continuous: for every epsilon there is one
    delta such that ``|f(x) − f(x')| < epsilon`` wherever d(x, x') ≤ delta. Samples that meet both are alike, and
    one of them, with the weight of all, will do (Nair and Dodd 2015). Samples are visited in random order;
    one that no earlier representative takes in becomes a representative itself.

    Parameters
    ----------
    epsilon : float
        Targets that differ by less are alike, in units of y; equal targets always are. Targets that are not numbers
        are alike only where they are equal.
    delta : float or None
        How far a sample may be from its representative; None for the largest distance up to which the targets
        of a share `quantile` of all pairs are alike.
    kernel : Kernel, str or None
        Measure by the kernel's own distance, d² = k(x, x) + k(x', x') − 2 k(x, x'), so that X may be whatever the
        kernel reads; None for the Euclidean distance of numbers.
    quantile : float
        The share of alike pairs that delta=None asks for, between 0 and 1.
    random_state : int, Generator or None
        Seed of the order of visits, and of the pairs that delta is found from.

    Attributes
    ----------
    representatives_ : array of shape (n_clusters,)
        Row numbers of the samples that are kept, in rising order.
    labels_ : array of shape (n_samples,)
        For every sample, the position of its representative in `representatives_`.
    counts_ : array of shape (n_clusters,)
        How many samples each representative stands for, itself included.
    delta_ : float
    compression_rate_ : float
        The share of the samples that is left out: 1 − n_clusters / n_samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import PreClustering
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> X_small, y_small, weight = PreClustering(epsilon=0.1).fit_resample(X, np.sin(X[:, 0]))
    >>> len(X_small) < 150, int(weight.sum())
    (True, 1000)
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        delta: float | None = None,
        *,
        kernel: Any = None,
        quantile: float = 0.9,
        random_state: Any = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.kernel = kernel
        self.quantile = quantile
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PreClustering:
        """Group the samples.

        Parameters
        ----------
        X : matrix, or with a kernel whatever it reads
        y : array of numbers or labels
        """
        self._check()
        views = as_views(X)
        y = _target(y, len(views))
        rng = np.random.default_rng(self.random_state)
        space = _Vectors(views) if self.kernel is None else _KernelSpace(views, as_kernel(self.kernel), rng)
        self.delta_ = self._find_delta(space, y, rng) if self.delta is None else float(self.delta)
        leaders = _lead(space, y, float(self.epsilon), self.delta_, rng.permutation(len(y)))
        self.representatives_, self.labels_ = np.unique(leaders, return_inverse=True)
        self.counts_ = np.bincount(self.labels_)
        self.compression_rate_ = 1.0 - len(self.representatives_) / len(y)
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the representatives, their targets (for numbers, the mean of those they stand for), and `counts_`.

        The three are what any estimator's `fit(X, y, sample_weight)` takes.
        """
        self.fit(X, y)
        y = _target(y, len(self.labels_))
        if y.dtype.kind == "f":
            means = np.bincount(self.labels_, weights=y) / self.counts_
            return self.transform(X), means, self.counts_
        return self.transform(X), np.asarray(y)[self.representatives_], self.counts_

    def transform(self, X: Any) -> Any:
        """Return the rows of X (or of anything else about the same samples) that belong to the representatives."""
        check_is_fitted(self)
        views = as_views(X)
        if len(views) != len(self.labels_):
            raise InputError(
                f"PreClustering chose among {len(self.labels_)} samples and cannot choose among {len(views)} others; "
                "new samples are predicted as they are."
            )
        return views.rows(self.representatives_).native()

    def _check(self) -> None:
        for name, value, optional in (("epsilon", self.epsilon, False), ("delta", self.delta, True)):
            if optional and value is None:
                continue
            if not (isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= float(value) < np.inf):
                or_none = ", or None" if optional else ", in units of y"
                raise InputError(f"{name} of PreClustering must be a finite number ≥ 0{or_none}; got {value!r}.")
        if not (isinstance(self.quantile, numbers.Real) and 0 < float(self.quantile) <= 1):
            raise InputError(f"quantile of PreClustering must be above 0 and at most 1; got {self.quantile!r}.")

    def _find_delta(self, space: _Vectors | _KernelSpace, y: np.ndarray, rng: np.random.Generator) -> float:
        """Return the largest distance up to which a share `quantile` of all pairs have targets that are alike."""
        probes = np.sort(rng.permutation(len(y))[:MAX_PROBES])
        first, second = np.triu_indices(len(probes), 1)
        if len(first) == 0:
            return 0.0
        distances = space.distances(probes, probes)[first, second]
        order = np.argsort(distances)
        apart = ~_alike(y[probes[first[order]]], y[probes[second[order]]], float(self.epsilon))
        distances, apart = distances[order], np.cumsum(apart)
        last = np.append(distances[1:] > distances[:-1], True)  # pairs of one distance stand or fall together
        good = np.flatnonzero(last & (apart <= (1.0 - float(self.quantile)) * np.arange(1, len(apart) + 1)))
        return float(distances[good[-1]]) if len(good) else 0.0


class _Vectors:
    """Rows of numbers under the Euclidean distance, found by scikit-learn's trees."""

    def __init__(self, X: Views) -> None:
        self.X = X.matrix()

    def distances(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return np.asarray(pairwise_distances(self.X[rows], self.X[cols]))

    def index(self, left: np.ndarray) -> Any:
        return NearestNeighbors(algorithm="brute" if sparse.issparse(self.X) else "auto").fit(self.X[left])

    def near(self, index: Any, left: np.ndarray, some: np.ndarray, delta: float) -> list[np.ndarray]:
        found = index.radius_neighbors(self.X[some], radius=delta, return_distance=False)
        return [left[one] for one in found]

    def confirm(self, leader: int, others: np.ndarray, delta: float) -> np.ndarray:
        return others


class _KernelSpace:
    """Whatever a kernel reads under its own distance, found by the distances to a few landmarks.

    By the triangle inequality |d(x, l) − d(x', l)| ≤ d(x, x') for every landmark l, so a tree on the distances to the
    landmarks finds all that may be near; the kernel then says which are.
    """

    def __init__(self, X: Views, kernel: Kernel, rng: np.random.Generator) -> None:
        self.X, self.kernel, self.diag = X, kernel, kernel.compute_diag(X)
        landmarks = np.sort(rng.permutation(len(X))[:N_LANDMARKS])
        self.places = self.distances(np.arange(len(X)), landmarks)
        #: Rounding moves distances near zero by the root of what it moves their squares.
        self.slack = 1e-7 * float(np.sqrt(max(self.diag.max(), 0.0)))

    def distances(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        K = self.kernel.compute(self.X.rows(rows), self.X.rows(cols))
        return np.sqrt(np.maximum(self.diag[rows][:, None] + self.diag[cols] - 2.0 * K, 0.0))

    def index(self, left: np.ndarray) -> Any:
        return KDTree(self.places[left], metric="chebyshev")

    def near(self, index: Any, left: np.ndarray, some: np.ndarray, delta: float) -> list[np.ndarray]:
        return [left[one] for one in index.query_radius(self.places[some], delta + self.slack)]

    def confirm(self, leader: int, others: np.ndarray, delta: float) -> np.ndarray:
        return others[self.distances(np.array([leader]), others)[0] <= delta + self.slack]


def _lead(space: _Vectors | _KernelSpace, y: np.ndarray, epsilon: float, delta: float, order: np.ndarray) -> np.ndarray:
    """Return for every sample who represents it: the first in the order that is near and alike, or itself."""
    leaders = np.full(len(y), -1)
    for leader, near in _visits(space, leaders, delta, order):
        some = near[leaders[near] < 0]
        some = some[_alike(y[some], y[leader], epsilon)]
        leaders[space.confirm(leader, some, delta)] = leader
        leaders[leader] = leader
    return leaders


def _visits(
    space: _Vectors | _KernelSpace, leaders: np.ndarray, delta: float, order: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every sample in the order that is not yet represented when its turn comes, with what is near it.

    Neighbours are looked up for many samples at a time, and among those only that are left; the tree is
    made anew whenever half of it is gone, so that crowded places are not searched again and again.
    """
    batch = 64
    while len(order):
        left = np.sort(order)
        index = space.index(left)
        while 2 * len(order) > len(left):
            some, order = order[:batch], order[batch:]
            found = space.near(index, left, some, delta)
            for one, near in zip(some, found, strict=True):
                if leaders[one] < 0:
                    yield int(one), near
            order = order[leaders[order] < 0]
            average = max(1, sum(map(len, found)) // len(some))
            batch = int(np.clip(MAX_FOUND // average, 16, 4096))


def _alike(a: np.ndarray, b: Any, epsilon: float) -> np.ndarray:
    """Say which targets differ by less than epsilon; equal ones are always alike."""
    same = np.asarray(a == b)
    return same | (np.abs(a - b) < epsilon) if a.dtype.kind == "f" else same


def _target(y: Any, n: int) -> np.ndarray:
    """Return targets as float64 where they are numbers, and as they are where not."""
    if y is None:
        raise InputError("PreClustering is supervised: it needs the targets y of the samples.")
    y = np.asarray(y)
    if y.dtype.kind in "iuf":
        return check_numbers(y, n)
    if y.shape != (n,):
        raise InputError(f"y must hold one target for each of the {n} samples; got an array of shape {y.shape}.")
    return y
