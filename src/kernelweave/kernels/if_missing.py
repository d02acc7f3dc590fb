"""Kernels with a rule for samples that lack what they read: a view that was not measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..errors import InputError
from ..presence import Gapped, there
from ..views import Views
from .base import ATOM, Kernel, Wrapper, bracketed
from .states import rebuilt
from .values import shown

#: What is done with samples that lack the view.
RULES = ("expected", "zero", "error")
#: Training samples that the expectation is taken over, at the most.
MOST_REFERENCES = 1000


@dataclass(frozen=True)
class References:
    """Training samples that have the view, each with its share; the mean of their features stands for who lacks it."""

    views: Views
    share: np.ndarray


@dataclass(eq=False, repr=False)
class IfMissing(Wrapper):
    """A kernel that some samples have nothing for; typed as `RBF(0.1).if_missing("zero").on("genes")`.

    A sample lacks a view where all columns that the kernel reads of it are missing: None, NaN, null or a text without
    a letter; in a sparse matrix, a row that holds NaN. With the training samples x_j that have it, and p_j their share,

    - "expected": its features are the mean of theirs, φ = Σ_j p_j φ(x_j), so that k(x, missing) = Σ_j p_j k(x, x_j)
      and k(missing, missing) = Σ_ij p_i p_j k(x_i, x_j);
    - "zero": its features are 0, so that it is unlike all samples, and itself;
    - "error": it is refused.

    Both are products of feature vectors, so the kernel stays positive semi-definite whoever lacks what. In a sum or a
    product, and around `.on`, a factor, `Frozen` and `per_feature`, every kernel inside gets the rule for itself.

    Parameters
    ----------
    kernel : Kernel
        Any: on numbers, categories, text, sequences, or ids of a given matrix.
    rule : {"expected", "zero", "error"}
        An estimator takes the expectation over its training samples, or over 1,000 of them drawn at random where
        there are more; the fitted model and its file keep these.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import RBF, MKLClassifier, Spectrum
    >>> X = {"size": np.array([[1.0], [np.nan], [3.0], [4.0]]), "dna": ["ACGT", "ACGA", None, "TTTT"]}
    >>> kernel = (RBF(0.1).on("size") + Spectrum(k=2).on("dna")).if_missing("zero")
    >>> kernel
    RBF(gamma=0.1).if_missing('zero').on('size') + Spectrum(k=2).if_missing('zero').on('dna')
    >>> MKLClassifier(kernel).fit(X, [0, 0, 1, 1]).predict(X)
    array([0, 0, 1, 1])
    """

    kernel: Kernel
    rule: str = "expected"
    #: Readers of whole columns have to expect that some samples have nothing there.
    inner_path = (Gapped(),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in RULES:
            raise InputError(f"The rule of .if_missing() is one of {RULES}; got {shown(self.rule)}.")
        #: What was taken from the training samples; None before a fit.
        self.references: References | None = None
        self._mean: float | None = None

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """As the kernel inside."""
        return self.kernel.definite

    @property
    def reads(self) -> str:  # type: ignore[override]
        """Not what the kernel inside reads: some of it may be missing."""
        return "anything"

    @property
    def keeps(self) -> str | None:  # type: ignore[override]
        """The samples of the expectation, where that is the rule."""
        return "references" if self.rule == "expected" else None

    @property
    def takes_gaps(self) -> bool:
        return True

    def __sklearn_clone__(self) -> IfMissing:
        return type(self)(clone(self.kernel), self.rule).at(self.references)

    def at(self, references: References | None) -> IfMissing:
        """Return the same kernel with these samples for the expectation."""
        twin = type(self)(self.kernel, self.rule)
        twin.references = references
        return twin

    def around(self, kernel: Kernel) -> Kernel:
        return self if kernel is self.kernel else type(self)(kernel, self.rule).at(self.references)

    def seen(self, X: Views) -> Views:
        return there(X)[1]

    def view(self, X: Views) -> Views:
        return X

    def check(self, X: Views) -> None:
        rows, known = there(X)
        if len(known) == len(X) or self.rule != "error":
            return self.kernel.check(known) if len(rows) else None
        first = int(np.setdiff1d(np.arange(len(X)), rows)[0])
        raise InputError(
            f"Sample {first} lacks what {self.kernel!r} reads. Leave it out, or choose a rule for such samples: "
            '.if_missing("expected") or .if_missing("zero").'
        )

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        if self.references is not None:
            return self
        self.check(X)
        rows, known = there(X)
        if not len(rows):
            raise InputError(f"No training sample has what {self.kernel!r} reads, so that nothing is learned from it.")
        share = np.ones(len(X)) if share is None else share
        inner = type(self)(self.kernel.learned(known, share[rows]), self.rule)
        if self.rule != "expected":
            return self.around(inner.kernel)
        some = np.arange(len(rows))
        if len(rows) > MOST_REFERENCES:
            some = np.sort(np.random.default_rng(0).choice(len(rows), MOST_REFERENCES, replace=False))
        chosen = share[rows[some]]
        return inner.at(References(known.rows(some), chosen / chosen.sum()))

    @property
    def known(self) -> References:
        """The samples of the expectation, or an error that says where they come from."""
        if self.references is None:
            raise InputError(
                f"{self!r} does not know yet what to expect: an estimator learns it from its training samples. To try "
                "it on samples, use kernel.learned(as_views(X))."
            )
        return self.references

    def means(self, X: Views) -> np.ndarray:
        """Return Σ_j p_j k(x, x_j) of samples that have the view."""
        return np.asarray(self.kernel.compute(X, self.known.views), dtype=np.float64) @ self.known.share

    @property
    def mean(self) -> float:
        """Σ_ij p_i p_j k(x_i, x_j)."""
        if self._mean is None:
            self._mean = float(self.known.share @ self.means(self.known.views))
        return self._mean

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        self._refuse(X, Y)
        rows, seen = there(X)
        columns, others = (rows, None) if Y is None else there(Y)
        n, m = len(X), len(X) if Y is None else len(Y)
        if len(rows) == n and len(columns) == m:
            return self.kernel.compute(X, Y)
        K = np.zeros((n, m))
        if len(rows) and len(columns):
            K[np.ix_(rows, columns)] = self.kernel.compute(seen, others)
        if self.rule == "expected":
            lost, lost_columns = np.delete(np.arange(n), rows), np.delete(np.arange(m), columns)
            K[np.ix_(lost, lost_columns)] = self.mean if len(lost) and len(lost_columns) else 0.0
            if len(lost_columns) and len(rows):
                K[np.ix_(rows, lost_columns)] = self.means(seen)[:, None]
            if len(lost) and len(columns):
                K[np.ix_(lost, columns)] = self.means(seen if others is None else others)
        return K

    def compute_diag(self, X: Views) -> np.ndarray:
        self._refuse(X)
        rows, seen = there(X)
        if len(rows) == len(X):
            return self.kernel.compute_diag(X)
        out = np.full(len(X), self.mean if self.rule == "expected" else 0.0)
        out[rows] = self.kernel.compute_diag(seen) if len(rows) else 0.0
        return out

    def _refuse(self, *samples: Views | None) -> None:
        """Complain where samples lack the view, and no rule lets them in."""
        if self.rule == "error":
            for one in samples:
                if one is not None and len(there(one)[0]) < len(one):
                    self.check(one)

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        found = self.kernel.terms(self.seen(X))
        return (self,) if found == (self.kernel,) else tuple(self.around(term) for term in found)

    def split(self, *by: str) -> Kernel:
        return self.around(self.kernel.split(*by))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel, ATOM)}.if_missing({self.rule!r})"


def with_rule(kernel: Kernel, rule: str) -> Kernel:
    """Return a kernel that has, in every part that reads something, a rule for samples that lack it."""
    if isinstance(kernel, IfMissing):
        raise InputError(f"{kernel!r} has a rule already.")
    if not kernel.passes_rule:
        return IfMissing(kernel, rule)
    return rebuilt(kernel, tuple(with_rule(part, rule) for part in kernel.inside))
