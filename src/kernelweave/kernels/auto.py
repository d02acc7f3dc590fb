"""A kernel that fits the look of the data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..categories import CATEGORIES
from ..errors import InputError
from ..matrices import listed_labels
from ..presence import there
from ..usual import PROTEINS, TEXTS
from ..views import ArrayViews, DictViews, Views
from .base import Kernel, add_all
from .categorical import Categorical
from .expression import parse
from .look import Look, look_at, look_at_matrix
from .ordinal import Ordinal
from .periodic import Periodic
from .spectrum import Spectrum
from .vectors import RBF, Laplacian, Linear
from .weighted_degree import WeightedDegree
from .words import BagOfWords
from .wrappers import Frozen, per_feature

#: Widths of the joint kernels on d columns of spread 1: each is gamma · d.
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
#: Widths of the joint kernels with a kink, `Laplacian`, on the same columns: for what jumps, as trees see it.
KINKED_WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
#: Widths of the kernels on single columns, for up to so many of them; above, there are none.
COLUMN_WIDTHS = {16: (0.1, 1.0, 10.0), 34: (0.3, 3.0)}
#: Above this many columns, all are seen in one common unit.
MAX_UNITS = 1000
#: Bytes that the matrices of all terms may take, before kernels on single columns are left out, and widths thinned.
MOST_BYTES = 2**31
#: Days after which dates come again, and how many periods the dates must span.
PERIODS, MIN_PERIODS = (7.0, 365.25), 2.0
#: What is learned from, and what to call it.
READ = {kind: kind for kind in ("numbers", "dates", "categories", "text", "sequences")} | {
    "ordered": "ordered categories"
}


@dataclass(eq=False, repr=False)
class Auto(Kernel):
    """A kernel that fits the look of the data: an estimator chooses it from its training samples.

    Numbers are standardized: `RBF` of several widths and `Linear` on all of them together, and `RBF` on each of up to
    34 columns. Ordered and other categories, dates, text, and DNA or protein sequences get a kernel each; constant
    columns and names of rows are left out. `base_kernel_` of an estimator prints the choice, and its `notes_` say what
    was left out.

    Parameters
    ----------
    several : bool
        Several widths, and terms on single columns, whose weights are to be learned; else one width for each view.
    """

    several: bool = True

    def chosen(self, X: Views, share: np.ndarray | None = None) -> tuple[Kernel, list[str]]:
        """Return the kernel for these samples, and what a user should know of the choice."""
        found = _Chooser(np.ones(len(X)) if share is None else share, self.several)
        terms = found.terms(X)
        if not terms:
            text = "There is no column to learn from: every column holds one value only, or names the rows."
            raise InputError(" ".join([text, *(f"{hint}." for hint in found.hints())]))
        kernel = add_all(terms)
        n_terms = len(kernel.terms(X))
        why = f"the kernel was chosen by the look of the data, {n_terms} terms (see base_kernel_): {found.summary()}"
        return kernel, [why, *found.notes(), *found.hints()]

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        return self.chosen(X, share)[0].learned(X, share)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        raise InputError(f"{self!r} stands for no kernel yet: an estimator chooses one; its base_kernel_ shows it.")

    @property
    def takes_gaps(self) -> bool:
        return True


def learned_kernel(kernel: Kernel, X: Views, share: np.ndarray | None = None) -> tuple[Kernel, list[str]]:
    """Return a kernel with all that it takes from the training samples, and what a user should know of it."""
    notes: list[str] = []
    if hasattr(kernel, "chosen"):
        kernel, notes = kernel.chosen(X, share)
    return kernel.learned(X, share), notes


@dataclass
class _Chooser:
    """Chooses the terms for samples that count so much each, and remembers what is left out."""

    share: np.ndarray
    several: bool
    left_out: dict[str, list[Hashable]] = field(default_factory=dict)
    #: The view whose columns are looked at, and what they all look like.
    view: Hashable | None = None
    looks: list[tuple[Hashable | None, Look]] = field(default_factory=list)

    def terms(self, X: Views) -> list[Kernel]:
        if isinstance(X, DictViews):
            return self._of_views(X)
        if isinstance(X, ArrayViews) and X.data.ndim == 2 and X.data.dtype.kind in "biuf":
            looks = look_at_matrix(X.matrix(gaps=True))
            self.looks += [(self.view, look) for look in looks]
            return self._of_columns(X, looks)
        if len(X.labels) == 1:
            return self._of_one(X)
        return self._of_columns(X, [self._look_at(label, X.select(label)) for label in X.labels])

    def notes(self) -> list[str]:
        what = {"constant": "one value only", "names": "a value of its own in every row"}
        return [
            f"{', '.join(map(repr, labels[:8]))}{', ...' if len(labels) > 8 else ''} "
            f"{'has' if len(labels) == 1 else 'have'} {what[kind]}, and nothing is learned from "
            f"{'it' if len(labels) == 1 else 'them'}"
            for kind, labels in self.left_out.items()
        ]

    def summary(self) -> str:
        """Return what is read, in words: numbers in 'age', 'dose' (some missing); text in 'note'."""
        groups: dict[tuple[Hashable | None, str], list[Look]] = {}
        for view, look in self.looks:
            if look.kind in READ:
                groups.setdefault((view, look.kind), []).append(look)
        said = []
        for (view, kind), looks in groups.items():
            labels = tuple(look.label for look in looks)
            numbered = all(isinstance(label, int) for label in labels)
            where = f"{len(labels)} column{'s' * (len(labels) > 1)}" if numbered else listed_labels(labels)
            gaps = " (some missing)" if any(look.gaps for look in looks) else ""
            said.append(f"{READ[kind]} in {where}{'' if view is None else f' of {view!r}'}{gaps}")
        return "; ".join(said)

    def hints(self) -> list[str]:
        """Return what would be read better as something else."""
        return [
            f"{look.label!r} holds {look.printed} as text, and would say more as {look.printed}"
            for _, look in self.looks
            if look.printed
        ]

    def _look_at(self, label: Hashable, X: Views) -> Look:
        look = look_at(label, X)
        self.looks.append((self.view, look))
        return look

    def _of_one(self, X: Views) -> list[Kernel]:
        """Return the terms for a single column, which needs no `.on`."""
        look = self._look_at(X.labels[0], X)
        if look.kind in ("numbers", "dates"):
            return [*self._of_numbers(X, [look]), *self._of_dates([look], None)]
        return self._of_thing(look, X)

    def _of_views(self, X: DictViews) -> list[Kernel]:
        """Return the terms for named views: single columns are seen together, each wider view by itself."""
        single = [label for label in X.labels if _is_column(X.parts[label])]
        wide = [label for label in X.labels if label not in single]
        found = [term.on(label) for label in wide for term in self._of_view(label, X.parts[label])]
        looks = [self._look_at(label, X.parts[label]) for label in single]
        return [*found, *(self._of_columns(X, looks) if single else [])]

    def _of_view(self, label: Hashable, X: Views) -> list[Kernel]:
        """Return the terms for a wide view, which some samples may lack: those that have it decide."""
        rows, known = there(X)
        if not 0 < len(rows) < len(X):
            return replace(self, view=label).terms(X)
        own = replace(self, share=self.share[rows], view=label)
        return [term.if_missing() for term in own.terms(known)]

    def _of_columns(self, X: Views, looks: Sequence[Look]) -> list[Kernel]:
        for look in looks:
            if look.kind in ("constant", "names"):
                self.left_out.setdefault(look.kind, []).append(look.label)
        numbers = [look for look in looks if look.kind in ("numbers", "dates")]
        others = [look for look in looks if look.kind not in ("numbers", "dates", "constant", "names")]
        labels = [look.label for look in numbers]
        terms: list[Kernel] = []
        if numbers:
            whole = len(numbers) == len(X.labels)
            seen = X if whole else X.select(labels)
            terms = self._of_numbers(seen, numbers)
            terms = terms if whole else [term.on(labels) for term in terms]
            terms += self._of_dates(numbers, labels)
        things = [(term.on(look.label), look) for look in others for term in self._of_thing(look, X.select(look.label))]
        terms += [term for term, _ in things]
        named = [term for term, look in things if look.kind in ("categories", "ordered")]
        if named and labels:  # a number may mean another thing in another category
            joint = RBF(_rounded(1.0 / len(labels))).standardized(missing=_missing(numbers)).on(labels)
            terms.append(joint * Frozen(add_all(named)))
        return terms

    def _of_numbers(self, X: Views, looks: Sequence[Look]) -> list[Kernel]:
        """Return kernels of several widths on all columns, straight lines, and kernels on single columns."""
        d, missing = len(looks), _missing(looks)
        most = max(3, MOST_BYTES // (8 * len(self.share) ** 2))
        widths: Sequence[float] = WIDTHS if self.several else (1.0,)
        widths = widths if len(widths) < most else widths[:: -(-len(widths) // (most - 1))]
        if d > MAX_UNITS or (isinstance(X, ArrayViews) and sparse.issparse(X.data)):
            unit = _common_unit(X.matrix(), self.share)
            joint = [RBF(_rounded(width / (d * unit))) for width in widths]
            return [*joint, Linear()] if self.several else [*joint]
        terms: list[Kernel] = [RBF(_rounded(width / d)) for width in widths]
        if self.several:
            terms.append(Linear())
            terms += [Laplacian(_rounded(width / d)) for width in KINKED_WIDTHS[: max(0, most - len(terms))]]
            single = next((own for top, own in COLUMN_WIDTHS.items() if 1 < d <= top), ())
            terms += [per_feature(RBF(width)) for width in single[: max(0, most - len(terms)) // d]]
        return [term.standardized(missing=missing) for term in terms]

    def _of_dates(self, looks: Sequence[Look], labels: Any) -> list[Kernel]:
        """Return what comes again in a week or a year, where dates span several of them."""
        found: list[Kernel] = []
        for look in looks:
            for period in PERIODS:
                if look.kind == "dates" and not look.gaps and look.span >= MIN_PERIODS * period:
                    found.append(Periodic(period) if labels is None else Periodic(period).on(look.label))
        return found

    def _of_thing(self, look: Look, X: Views) -> list[Kernel]:
        """Return the terms for a column that holds no numbers."""
        if look.kind in ("categories", "ordered"):
            return [Categorical() if look.kind == "categories" else Ordinal()]
        if look.kind == "sequences" and not look.gaps:
            return _summands(for_sequences(X.sequences()))
        if look.kind == "sequences":
            return [term.if_missing() for term in _summands(for_sequences(there(X)[1].sequences()))]
        if look.kind == "text":
            return [(BagOfWords(alphabet=CATEGORIES) if look.gaps else BagOfWords()).normalized()]
        self.left_out.setdefault(look.kind, []).append(look.label)
        return []


def for_sequences(sequences: Any) -> Kernel:
    """Return a kernel for sequences: of DNA by places where all have one length, else by words; of protein; of text."""
    from ..sequences import DNA, PROTEIN, RNA

    if sequences.alphabet == PROTEIN:
        return parse(PROTEINS)
    if sequences.alphabet not in (DNA, RNA):
        return parse(TEXTS)
    return WeightedDegree(degree=10, shift=3) if sequences.length is not None else Spectrum(k=6).normalized()


def _summands(kernel: Kernel) -> list[Kernel]:
    return list(getattr(kernel, "kernels", (kernel,)))


def _is_column(X: Views) -> bool:
    return not isinstance(X, DictViews) and len(X.labels) == 1


def _missing(looks: Sequence[Look]) -> str:
    return "expected" if any(look.gaps for look in looks) else "centre"


def _common_unit(values: Any, share: np.ndarray) -> float:
    """Return the mean variance of the columns."""
    p = share / share.sum()
    squares = (values.multiply(values) if sparse.issparse(values) else values * values).T @ p
    return max(float(np.mean(squares - np.square(values.T @ p))), 1e-300)


def _rounded(value: float) -> float:
    """Three digits are enough for a width, and can be read."""
    return float(f"{value:.3g}")
