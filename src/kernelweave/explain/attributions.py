"""What every letter adds, and what every other letter would add there: in the forms that other tools read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataWarning, InputError, MemoryBudgetError
from ..estimators.fitted import fitted_model
from ..io.atomic import AtomicFile
from .contributions import contributions
from .mutations import mutation_map
from .tables import letter_frame

#: Files that `modisco motifs` reads: the letters, and what each of them, or any other in its place, adds.
MODISCO_FILES = ("sequences.npz", "attributions.npz")


@dataclass(frozen=True)
class Attributions:
    """What letters add to decision values.

    decision[i] = base[i] + Σ over positions p of contributions[i, p]; hypothetical[i, c, p] is what letter c would add
    at p: contributions[i, p] + decision(sequence i with c at p) − decision(sequence i). It is contributions[i, p] for
    the letter that is there.

    Attributes
    ----------
    one_hot : array of shape (n, letters, length), float32
        1 for the letter that is there; all 0 for an unknown one, and behind the end of a shorter sequence.
    contributions : array of shape (n, length)
    hypothetical : array of shape (n, letters, length)
    base : array of shape (n,)
        The intercept, and what does not belong to letters.
    letters : str
    sequences : list of str
    """

    one_hot: np.ndarray
    contributions: np.ndarray
    hypothetical: np.ndarray
    base: np.ndarray
    letters: str
    sequences: list[str]

    def save_modisco(self, folder: str | os.PathLike) -> list[str]:
        """Write sequences.npz and attributions.npz for ``modisco motifs -s ... -a ...``; return their paths.

        Both hold one array (n, 4, length) of float32: the letters as 0 and 1, and the hypothetical contributions.
        """
        lengths = {len(text) for text in self.sequences}
        if len(lengths) > 1 or len(self.letters) != 4:
            raise InputError(
                f"MoDISco reads DNA of one length; these are {len(self.letters)} letters in sequences of "
                f"{min(lengths)} to {max(lengths)}. Cut them to one window, such as with --width."
            )
        os.makedirs(os.path.expanduser(os.fspath(folder)), exist_ok=True)
        paths = [os.path.join(os.path.expanduser(os.fspath(folder)), name) for name in MODISCO_FILES]
        for path, array in zip(paths, (self.one_hot, self.hypothetical), strict=True):
            with AtomicFile(path) as out:
                np.savez_compressed(out.file, array.astype(np.float32))
        return paths

    def logo_frame(self, i: int, hypothetical: bool = False) -> Any:
        """Return sequence i as the DataFrame that ``logomaker.Logo`` draws: a row per position, a column per letter."""
        values = self.hypothetical[i] if hypothetical else self.one_hot[i] * self.contributions[i]
        return letter_frame(values[:, : len(self.sequences[i])].T, self.letters)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``: a feature per position, the letters as data."""
        try:
            import shap
        except ImportError:
            raise ImportError("An Explanation needs shap: pip install shap") from None
        length = self.contributions.shape[1]
        data = np.array([list(text.ljust(length, "-")) for text in self.sequences], dtype=object)
        names = [f"position {p}" for p in range(length)]
        return shap.Explanation(self.contributions, self.base, data, feature_names=names)


def attributions(model: Any, X: Any, *, view: Hashable = None, machine: int = 0) -> Attributions:
    """Return what every letter of some sequences adds, and what every other letter would add in its place.

    What a letter adds is what `contributions` says: the weight of a word is shared evenly by the letters it covers.
    Kernels whose words have no places get the difference to the mean over all letters in that position. Every single
    substitution is judged, so this costs (letters − 1) · length predictions for each sequence.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass, of one view of sequences
    X : sequences
    view : column name, where the model sees a table
    machine : int
        Which machine, where there are several classes.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import attributions
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> found = attributions(model, ["AACG", "TTCG"])
    >>> there = (found.one_hot * found.hypothetical).sum(axis=1)
    >>> found.hypothetical.shape, bool((abs(there - found.contributions) < 1e-9).all())
    ((2, 4, 4), True)
    """
    fitted = fitted_model(model)
    with suppress(MemoryBudgetError):
        fitted.keep()
    views = fitted.views(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # what is odd is said of all sequences together
        maps = [mutation_map(model, views.rows(np.array([i])), view=view, machine=machine) for i in range(len(views))]
    length, letters = max((len(one.sequence) for one in maps), default=0), maps[0].letters if maps else ""
    one_hot = np.zeros((len(maps), len(letters), length), np.float32)
    hypothetical = np.zeros((len(maps), len(letters), length))
    added = _added(model, views, maps, view, machine, length)
    for i, one in enumerate(maps):
        n = len(one.sequence)
        one_hot[i, :, :n] = np.array(list(one.sequence)) == np.array(list(letters))[:, None]
        hypothetical[i, :, :n] = one.values.T + added[i, :n]
    base = np.array([one.decision for one in maps]) - added.sum(axis=1)
    return Attributions(one_hot, added, hypothetical, base, letters, [one.sequence for one in maps])


def _added(model: Any, X: Any, maps: Sequence[Any], view: Hashable, machine: int, length: int) -> np.ndarray:
    """What the letters add, (n, length)."""
    found = contributions(model, X, machine=machine).by_view
    if len(found) == 1 or view in found:
        return found[view] if view in found else next(iter(found.values()))
    out = np.zeros((len(maps), length))
    for row, one in zip(out, maps, strict=True):
        row[: len(one.sequence)] = -one.values.mean(axis=1)
    return out
