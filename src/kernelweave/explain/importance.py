"""Which words matter where: k-mer extraction, importance by length and position, POIMs and logos.

A machine of degree 20 has weights for words of up to 20 letters. To see what it says about the words of a few letters,
every weight is shared with the words that it overlaps: a longer word counts by the probability of its other letters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .scores import KmerScores, ScoredWords
from .tables import letter_frame

#: What `importance` makes of the scores of all words of one length at one position.
HOW = ("max", "mean", "signed", "differential")


@dataclass(frozen=True)
class Importance:
    """How much words of every length matter at every position: values[i, p], with orders[i] and positions[p].

    Zero where a word would reach beyond the end; `positions` is [−1] for words that count anywhere.
    """

    orders: np.ndarray
    positions: np.ndarray
    values: np.ndarray
    how: str
    view: Hashable = None


@dataclass(frozen=True)
class Logo:
    """What every letter adds at every position: values[p, c], with letters[c]; zero for letters of no importance."""

    values: np.ndarray
    letters: str
    positions: np.ndarray
    view: Hashable = None

    def to_frame(self) -> Any:
        """Return the DataFrame that ``logomaker.Logo`` draws: a row per position, a column per letter."""
        return letter_frame(self.values, self.letters, self.positions)


def stacked(heights: np.ndarray, least: float = 0.0) -> list[tuple[int, float, float]]:
    """Return (letter, lower end, height) of the letters of one position that are higher than `least`.

    They stand on both sides of zero, by their signs, the largest outermost.
    """
    out = []
    for sign in (1.0, -1.0):
        edge = 0.0
        for a in np.argsort(np.abs(heights), kind="stable"):
            height = float(sign * heights[a])
            if height > least:
                out.append((int(a), edge if sign > 0 else -edge - height, height))
                edge += height
    return out


def reach(values: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest end of all stacks of letters, (length, n_letters)."""
    return float(np.minimum(values, 0.0).sum(axis=1).min()), float(np.maximum(values, 0.0).sum(axis=1).max())


# -- what users call -------------------------------------------------------------------------------------------------


def kmer_scores(model: Any, order: int, *, term: Any = None, machine: int = 0) -> KmerScores:
    """Return the scores of all words of one length, with the shares of all shorter and longer words.

    values[u, p] = Σ over the words v that overlap u at p and agree with it there, of weight(v) · n_letters^(−letters of
    v outside u). For the weighted degree kernel, with and without shifts, and for the spectrum kernel.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    order : int
        Letters of a word; need not be a length that the kernel uses.
    term : int, str or list of them
        Which terms to read; all by default, if they see one view and agree on whether words have positions.
    machine : int
        Which machine, where there are several classes.

    Notes
    -----
    Where the kernel is normalised, weights are those in a sequence of average norm: exact for the weighted degree
    kernel without shift. `Spectrum(values="binary")` counts every occurrence here.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import kmer_scores
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> scores = kmer_scores(model, 2)
    >>> scores.values.shape, scores.kmers[scores.values[:, 0].argmax()].item()
    ((16, 3), 'AA')
    """
    words = ScoredWords(model, term, machine)
    return words.scores(order, words.even_chance())


def poim(model: Any, order: int, background: Any = None, *, term: Any = None, machine: int = 0) -> KmerScores:
    """Return positional importance: values[u, p] = E[f(x) | u stands at p] − E[f(x)].

    Letters are drawn independently, each position with its own probabilities. Under equal probabilities it is
    `kmer_scores` with its mean at every position taken off.

    Parameters
    ----------
    background : None, "uniform", array or sequences
        Probabilities of the letters: of shape (length, letters) or (letters,); sequences to count them in; or None to
        count them in the support sequences.
    model, order, term, machine
        As for `kmer_scores`.

    Notes
    -----
    Exact for the weighted degree kernel, with `normalized()` only without shift. For the spectrum kernel the sequence
    is thought to go on to both sides.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import poim
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> poim(model, 1, "uniform").table(top=1)["kmer"].item()
    'A'
    """
    words = ScoredWords(model, term, machine)
    return words.scores(order, words.chance(background), centred=True)


def importance(
    model: Any, orders: Sequence[int] | None = None, how: str = "max", *, term: Any = None, machine: int = 0
) -> Importance:
    """Return how much words of every length matter at every position, from the scores of `kmer_scores`.

    Parameters
    ----------
    orders : sequence of int or None
        Lengths of words; by default 1 to 8, or fewer where the alphabet has many letters.
    how : {"max", "mean", "signed", "differential"}
        Largest absolute score, mean absolute score, or the score of largest absolute value with its sign. As longer
        words hold the shorter ones, these grow with the length. "differential" shows which length it takes: the largest
        ``|score|`` (means taken off) less those of the two words that are one letter shorter.
    model, term, machine
        As for `kmer_scores`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import importance
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> importance(model, orders=range(1, 4)).values.shape
    (3, 4)
    """
    if how not in HOW:
        raise InputError(f"how must be one of {', '.join(HOW)}; got {how!r}.")
    words = ScoredWords(model, term, machine)
    lengths = words.check_orders(orders)
    longest, n = max(lengths), len(words.positions)
    values = np.zeros((longest + 1, n))  # of all lengths from 0 on
    for column, levels in words.walk(longest, words.even_chance()):
        for k in range(1, longest + 1) if how == "differential" else lengths:
            part = words.level(levels, k)
            if len(part):
                values[k, column] = _summary(part, how)
    if how == "differential":
        shorter = np.maximum(values[:-1], np.column_stack([values[:-1, 1:], values[:-1, -1:]]))
        fits = np.arange(n) + np.arange(1, longest + 1)[:, None] <= n if words.placed else True
        values[1:] = np.where(fits, values[1:] - shorter, 0.0)
    return Importance(np.array(lengths), words.positions, values[lengths], how, words.view)


def logo(model: Any, *, min_share: float = 0.02, term: Any = None, machine: int = 0) -> Logo:
    """Return what every letter adds at every position: the scores of order 1, with their mean per position taken off.

    Parameters
    ----------
    min_share : float
        Letters whose value is below this share of the largest one are of no importance and get 0.
    model, term, machine
        As for `kmer_scores`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import logo
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> found = logo(model)
    >>> "".join(found.letters[c] for c in found.values[:2].argmax(axis=1))
    'AA'
    """
    scores = poim(model, 1, "uniform", term=term, machine=machine)
    values = np.where(np.abs(scores.values) < min_share * np.abs(scores.values).max(initial=0.0), 0.0, scores.values)
    return Logo(values.T.copy(), scores.letters, scores.positions, scores.view)


def _summary(scores: np.ndarray, how: str) -> float:
    size = np.abs(scores - scores.mean() if how == "differential" else scores)
    if how == "mean":
        return float(size.mean())
    return float(scores[size.argmax()] if how == "signed" else size.max())
