"""Terms of a fitted model, one row each: what they are, their weights, and their part in the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.fitted import fitted_model
from ..kernels import Kernel
from ..kernels.pieces import pieces
from ..views import Views
from .tables import Table


class TermTable(Table):
    """One row per term of a fitted model; see `term_table`."""

    def to_text(self, top: int = 20) -> str:
        """Return the terms of the largest weights as plain text."""
        order = np.argsort(-self["weight"], kind="stable")[:top]
        figures = [name for name in self.columns if name != "name" and self[name].dtype.kind == "f"]
        lines = ["  ".join([*(f"{name:>10}" for name in figures), "term"])]
        lines += ["  ".join([*(f"{self[name][m]:>10.4g}" for name in figures), self["name"][m]]) for m in order]
        if len(self) > top:
            lines.append(f"and {len(self) - top} more terms")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


@dataclass(frozen=True)
class Places:
    """Where terms stand that are parts of one split kernel.

    `degrees` and `positions` hold one number per term, −1 where a term has none; `whole` is the kernel that was split,
    or None where the terms are not all parts of one.
    """

    degrees: np.ndarray
    positions: np.ndarray
    whole: str | None

    @property
    def is_grid(self) -> bool:
        """Whether every term has both a degree and a position."""
        return bool(len(self.degrees)) and min(self.degrees.min(), self.positions.min()) >= 0

    def grid(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return one value per term as a matrix, NaN where no term stands, and the degrees and positions of it.

        Values of terms that stand in one place are added up.
        """
        degrees, positions = (np.arange(all_.min(), all_.max() + 1) for all_ in (self.degrees, self.positions))
        place = self.degrees - degrees[0], self.positions - positions[0]
        out = np.full((len(degrees), len(positions)), np.nan)
        out[place] = 0.0
        np.add.at(out, place, values)
        return out, degrees, positions


def term_table(model: Any, X: Any = None) -> TermTable:
    """Return name, weight and, given samples, share of every term.

    share[m] = Σ_i part_m(i) · f(i) / Σ_i f(i)²: the part of term m in the variance of the decision values f, both with
    their means taken off. The shares add up to 1; a share below zero belongs to a term that works against the others.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
        Or a pipeline or a search that ends with one; X is then what that last step is given.
    X : samples, optional
        For the column "share".

    Returns
    -------
    TermTable
        Columns "name", "weight", and "share" with X; "degree" and "position" for the parts of split kernels, −1 where a
        term has none; with one set of weights per class, "weight" is their mean and "weight of <class>" each of them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelweave import RBF, Linear, MKLClassifier
    >>> from kernelweave.explain import term_table
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> table = term_table(MKLClassifier(RBF(1.0) + Linear()).fit(X, y), X)
    >>> table["name"].tolist()
    ['RBF(gamma=1.0)', 'Linear()']
    >>> float(table["share"].sum().round(6))
    1.0
    """
    fitted = fitted_model(model)
    columns: dict[str, Any] = {"name": np.array(fitted.term_names), "weight": fitted.weights.mean(axis=0)}
    if len(fitted.weights) > 1:
        columns |= {f"weight of {c}": row for c, row in zip(fitted.machine_names, fitted.weights, strict=True)}
    if X is not None:
        columns["share"] = fitted.shares(X)
    places = places_of(fitted.terms, fitted.support)
    for name, values in (("degree", places.degrees), ("position", places.positions)):
        if (values >= 0).any():
            columns[name] = values
    return TermTable(columns)


def places_of(terms: Sequence[Kernel], X: Views) -> Places:
    """Return degree and position of every term that is a part of a split kernel."""
    found = [pieces(term, X) for term in terms]
    parts = [one[0] if len(one) == 1 and (one[0].degree, one[0].position) != (None, None) else None for one in found]
    degrees = np.array([-1 if part is None or part.degree is None else part.degree for part in parts], dtype=int)
    positions = np.array([-1 if part is None or part.position is None else part.position for part in parts], dtype=int)
    wholes = {None if part is None else part.whole for part in parts}
    return Places(degrees, positions, wholes.pop() if len(wholes) == 1 else None)
