"""Terms before they are weighed: scaled, dead ones dropped, twins merged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from ..errors import DataWarning, InputError
from ..gram import Gram
from ..kernels import Kernel, Laplacian

SCALINGS = ("variance", "trace", None)
#: A term whose variance is below this share of its size is constant but for rounding.
DEAD = 1e-12
#: With more samples than this, kernels on numbers that need all pairs of them are a matter of hours.
MANY = 200_000
#: With more samples than this, the variances of terms that need no matrix are those of a random sample of this size.
MAX_STATISTICS = 4_000
#: And of this size where all that they tell is whether the only term is constant.
FEW_STATISTICS = 1_000


@dataclass
class Terms:
    """The terms that take part, and how their weights become weights of all terms."""

    gram: Gram
    all_terms: tuple[Kernel, ...]
    #: What every term was divided by.
    scales: np.ndarray
    #: The variance of every term that was bound, before that.
    variances: np.ndarray
    #: For every term that takes part, which terms share its weight.
    groups: list[list[int]]
    #: True where terms that share a weight differ by a constant, which the intercept has to make up for.
    shifted: bool = False
    notes: list[str] = field(default_factory=list)

    def share(self, values: np.ndarray) -> np.ndarray:
        """Return values of all terms: zero for dead ones, the same for twins."""
        out = np.zeros(len(self.all_terms))
        for value, group in zip(values, self.groups, strict=True):
            out[group] = value
        return out

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights of all terms: zero for dead ones, equal shares for twins."""
        out = np.zeros(len(self.all_terms))
        for weight, group in zip(weights, self.groups, strict=True):
            out[group] = weight / len(group)
        return out


def prepare_terms(
    gram: Gram, scaling: str | None, share: np.ndarray, *, centred: bool, merge: bool, quiet: bool = False
) -> Terms:
    """Scale the terms, drop those that are constant, and merge those that are the same.

    Parameters
    ----------
    scaling : {"variance", "trace", None}
    share : sample weights
    centred : whether the machine ignores a constant added to the kernel (Σ coef = 0)
    merge : whether equal terms are to be learned as one (their weights are not unique)
    quiet : whether terms that say nothing are no news, because the user did not choose them
    """
    if scaling not in SCALINGS:
        raise InputError(f"scaling must be one of {SCALINGS}; got {scaling!r}.")
    most = FEW_STATISTICS if scaling is None and gram.n_terms == 1 else MAX_STATISTICS
    sizes, variances, marks = _sizes_variances_marks(*_statistics_sample(gram, share, most), centred)
    live = np.flatnonzero(variances > DEAD * np.abs(sizes))
    dead = np.setdiff1d(np.arange(gram.n_terms), live)
    notes = _warn_dead(gram, dead, quiet)
    scales = _scales_of_terms(scaling, variances if centred else sizes, float(share.sum()))
    scales[dead] = 1.0
    for m, term in enumerate(gram.terms):
        if term.training_only:
            scales[m] = identity_scale(scaling, share)
    if not quiet:
        _warn_unlike(gram, variances, sizes, notes)
    _warn_pairs(gram, notes)
    scaled = gram.rescaled(1.0 / scales)
    groups = _groups_of_twins(marks / scales[:, None], live) if merge else [[int(m)] for m in live]
    notes += [
        f"terms {', '.join(map(str, group))} are identical on these data"
        f"{', but for a constant at most,' if centred else ''} and share their weight equally"
        for group in groups
        if len(group) > 1 and not quiet
    ]
    firsts = [group[0] for group in groups]
    kept = scaled if len(firsts) == gram.n_terms else scaled.only(firsts)
    shifted = centred and len(groups) < len(live)
    return Terms(kept, gram.terms, scales, variances, groups, shifted, notes)


def identity_scale(scaling: str | None, share: np.ndarray) -> float:
    """Return what an identity is divided by.

    Its variance would count rows, but a row of weight two is to be the same as two rows.
    """
    return float(share.sum()) if scaling == "trace" else 1.0


def _scales_of_terms(scaling: str | None, variances: np.ndarray, total: float) -> np.ndarray:
    if scaling is None:
        return np.ones(len(variances))
    return np.array(variances * (total if scaling == "trace" else 1.0))


def _warn_dead(gram: Gram, dead: np.ndarray, quiet: bool) -> list[str]:
    if len(dead) == gram.n_terms:
        raise InputError(
            "Every term of the kernel is zero or constant on these data, so there is nothing to learn from: "
            f"{', '.join(repr(gram.terms[m]) for m in dead[:5])}."
        )
    if len(dead) == 0:
        return []
    names = ", ".join(f"{gram.terms[m]!r}" for m in dead[:5]) + (", ..." if len(dead) > 5 else "")
    note = f"{len(dead)} term(s) are zero or constant on these data and get weight 0: {names}"
    if not quiet:
        warnings.warn(note, DataWarning, stacklevel=6)
    return [note]


def _warn_unlike(gram: Gram, variances: np.ndarray, sizes: np.ndarray, notes: list[str]) -> None:
    """Warn where no two samples are alike under any term that has a width: none fits the data."""
    if gram.n < 20:
        return
    narrow = []
    for m, term in enumerate(gram.terms):
        wide = all(hasattr(leaf, "gamma") and leaf.reads == "numbers" for leaf in term.leaves())
        if wide and all(type(leaf).__name__ in ("RBF", Laplacian.__name__) for leaf in term.leaves()):
            alike = (sizes[m] - variances[m]) / max(sizes[m], 1e-300) - 1.0 / gram.n
            if alike >= 1e-9:  # one width that fits is enough: several are given so that the weights may choose
                return
            narrow.append(term)
    if narrow:
        note = f"under {narrow[0]!r} no two samples are alike; scale the features, or use a smaller gamma"
        warnings.warn(note, DataWarning, stacklevel=6)
        notes.append(note)


def _warn_pairs(gram: Gram, notes: list[str]) -> None:
    """Suggest landmarks where numbers of very many samples are compared pair by pair."""
    if gram.n <= MANY:
        return
    for term in gram.terms:
        if term.gram_kind == "dense" and not term.stored and all(leaf.reads == "numbers" for leaf in term.leaves()):
            note = (
                f"{term!r} compares {gram.n:,} samples pair by pair, which may take hours; LowRank({term!r}) takes "
                "minutes, and its notes say what it loses"
            )
            warnings.warn(note, DataWarning, stacklevel=6)
            notes.append(note)
            return


def _statistics_sample(gram: Gram, share: np.ndarray, most: int) -> tuple[Gram, np.ndarray]:
    """Return the samples that the statistics of the terms are taken from, with their shares: all, or a random part."""
    if gram.n > MAX_STATISTICS:
        rows = np.sort(np.random.default_rng(0).choice(gram.n, most, replace=False))
        part = gram.sampled(rows)
        if part is not None and share[rows].any():
            gram, share = part, share[rows]
    return gram, share / share.sum()


def _sizes_variances_marks(gram: Gram, share: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return size and variance of every term, and its products with two random vectors, in one pass.

    The vectors are mean-free where a machine's coef are: then the products do not tell terms apart that differ by a
    constant.
    """
    columns = [share]
    if gram.n_terms > 1:  # one term alone has no twin to be told from
        probes = np.random.default_rng(0).standard_normal((2, gram.n))
        columns += [probe - probe.mean() if centred else probe for probe in probes]
    quads = gram.quad(np.column_stack(columns))
    sizes = gram.diag_each() @ share
    return sizes, sizes - quads[:, 0], quads[:, -2:]


def _groups_of_twins(marks: np.ndarray, live: np.ndarray) -> list[list[int]]:
    """Group the terms that give the same products with random vectors."""
    order = live[np.lexsort(marks[live].T)]
    before, after = marks[order[:-1]], marks[order[1:]]
    alike = (np.abs(before - after) <= 1e-9 * np.abs(after)).all(axis=1)
    groups = np.split(order, np.flatnonzero(~alike) + 1)
    return sorted((sorted(group.tolist()) for group in groups), key=lambda group: group[0])
