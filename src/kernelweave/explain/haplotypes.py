"""Decision values of stretches of letters, with and without a variant: by windows, by words, or by a table of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..estimators.fitted import FittedModel, steps_of
from ..gram.prepared import seen_through
from ..kernels.pieces import pieces
from ..letters import Letters
from ..parallel import blas_threads, count_jobs
from ..scan.scanner import machine_of
from ..scan.sliding import WindowModel, one_view
from ..sequences import Alphabet, SequenceSet
from ..sequences.layout import common_length, offsets_of

#: How the decision values of several windows become one.
COMBINE = ("max", "sum", "mean")
STRANDS = {"both": "+-", "+": "+", "-": "-"}


class Scorer(Protocol):
    """Something that scores stretches of letters.

    Attributes
    ----------
    flank : int
        Letters on either side of a variant that its score depends on.
    about : str
        What the score is, in words.
    """

    flank: int
    about: str

    def scores(self, texts: Sequence[bytes]) -> np.ndarray:
        """Return the score of every text, (n,); nan where it is too short to have one."""
        ...


def scorer(
    model: Any,
    *,
    window: int | None = None,
    combine: str = "max",
    strands: str = "auto",
    label: Any = None,
    n_jobs: int | None = 1,
) -> Scorer:
    """Return how a model scores the letters around a variant.

    A model of windows of one length whose words have places is moved over all windows that cover the variant, and
    `combine` makes one number of them. A model whose words count anywhere, each time they occur, scores the words that
    the variant changes. Any other scores one window with the variant in its middle.

    Parameters
    ----------
    model : fitted estimator, or a `Scorer`, which is returned as it is
    window : int or None
        Letters around a variant, for models without a length of their own; None for the median of the support.
    combine : {"max", "sum", "mean"}
        Over windows, and over strands.
    strands : {"auto", "both", "+", "-"}
        "auto" reads both strands for models of windows, and the forward one for others: kernels with
        ``reverse_complement=True`` see both by themselves.
    label : class label or None
        Which class, where there are more than two.
    n_jobs : int or None
    """
    if hasattr(model, "scores") and hasattr(model, "flank"):
        return model
    if combine not in COMBINE:
        raise InputError(f"combine must be one of {', '.join(map(repr, COMBINE))}; got {combine!r}.")
    if strands not in ("auto", *STRANDS):
        raise InputError(f"strands must be 'auto', 'both', '+' or '-'; got {strands!r}.")
    *before, machine = steps_of(model)
    if before:
        raise InputError(f"Variants are scored on letters as they are; this pipeline changes them by {before[0]!r}.")
    fitted: FittedModel = machine.fitted_
    chosen, jobs = machine_of(fitted, label), count_jobs(n_jobs)
    span, additive = word_span(fitted)
    if span is None and _support(fitted).length is not None:
        return WindowScorer(fitted, chosen, combine, STRANDS["both" if strands == "auto" else strands], jobs)
    both = STRANDS["+" if strands == "auto" else strands]
    if additive and window is None and span is not None:
        return PieceScorer(fitted, chosen, combine, both, max(1, span - 1), jobs)
    typical = int(np.median(_support(fitted).lengths)) if window is None else int(window)
    return PieceScorer(fitted, chosen, combine, both, max(1, (typical - 1) // 2), jobs)


def word_span(fitted: FittedModel) -> tuple[int | None, bool]:
    """Return the letters of the longest word of a model whose words count anywhere, and whether their weights add up.

    They do where nothing is divided by norms, and words count each time they occur. None for models of another kind.
    """
    spans, additive = [], True
    for m in fitted.used:
        for piece in pieces(fitted.terms[m], fitted.support):
            placed = any(isinstance(columns, Letters) for columns in piece.path)
            if piece.core.word_kind != "free" or placed or not hasattr(piece.core, "parts"):
                return None, False
            alphabet = piece.core.sequences(fitted.support.through(piece.path)).alphabet
            shapes = [vocabulary.shape for _, vocabulary in piece.core.parts(alphabet, piece.degree)]
            if any(shape is None for shape in shapes):
                return None, False
            spans += [shape.span for shape in shapes if shape is not None]
            additive &= not piece.norms and getattr(piece.core, "values", "count") == "count"
    return (max(spans), additive) if spans else (None, False)


def _support(fitted: FittedModel) -> SequenceSet:
    path, leaf = one_view([fitted.terms[m] for m in fitted.used], fitted.support)
    return fitted.support.through(path).sequences(leaf.alphabet)


def encoded(texts: Sequence[bytes], alphabet: Alphabet) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of texts one after the other, and where each of them starts."""
    offsets = offsets_of(np.fromiter(map(len, texts), np.int64, len(texts)))
    return alphabet.table[np.frombuffer(b"".join(texts), np.uint8)], offsets


class WindowScorer:
    """All windows of a text, of the length that the model was fitted on."""

    def __init__(self, fitted: FittedModel, machine: int, combine: str, strands: str, n_jobs: int) -> None:
        self._model = WindowModel(fitted, None, machine, n_jobs)
        self._combine, self._strands, self._n_jobs = combine, strands, n_jobs
        self.window, self.flank = self._model.window, self._model.window - 1
        if "-" in strands:
            _ = self._model.alphabet.complement_table  # which says where there is no other strand
        sides = {"+-": "both strands", "+": "the forward strand", "-": "the reverse strand"}[strands]
        self.about = f"{combine} over all windows of {self.window} letters that cover the variant, on {sides}"

    def scores(self, texts: Sequence[bytes]) -> np.ndarray:
        codes, offsets = encoded(texts, self._model.alphabet)
        counts = np.maximum(np.diff(offsets) - self.window + 1, 0)
        firsts = offsets_of(counts)
        starts = np.arange(firsts[-1]) + np.repeat(offsets[:-1] - firsts[:-1], counts)
        out, fits = np.full(len(texts), np.nan), counts > 0
        if not len(starts):
            return out
        parts = []
        with blas_threads(self._n_jobs):
            if "+" in self._strands:
                parts.append(self._model.scores(codes, starts))
            if "-" in self._strands:  # the mirror image of the letters: a window from s on is one from end − s on
                mirror = self._model.alphabet.complement_table[codes[::-1]]
                parts.append(self._model.scores(mirror, len(codes) - self.window - starts))
        both = np.stack(parts)
        if self._combine == "max":
            out[fits] = np.maximum.reduceat(both.max(axis=0), firsts[:-1][fits])
            return out
        out[fits] = np.add.reduceat(both.sum(axis=0), firsts[:-1][fits])
        return out / (counts * len(parts)) if self._combine == "mean" else out


class PieceScorer:
    """One text, scored as it is."""

    def __init__(self, fitted: FittedModel, machine: int, combine: str, strands: str, flank: int, n_jobs: int) -> None:
        self._path, leaf = one_view([fitted.terms[m] for m in fitted.used], fitted.support)
        self._alphabet = fitted.support.through(self._path).sequences(leaf.alphabet).alphabet
        self._fitted, self._machine, self._n_jobs = fitted, machine, n_jobs
        self._combine, self._strands, self.flank = combine, strands, flank
        self._prepared = fitted.keep()
        if "-" in strands:
            _ = self._alphabet.complement_table
        sides = {"+-": f", {combine} over both strands", "+": "", "-": ", on the reverse strand"}[strands]
        self.about = f"of the letters from {flank} before to {flank} after the variant{sides}"

    def scores(self, texts: Sequence[bytes]) -> np.ndarray:
        codes, offsets = encoded(texts, self._alphabet)
        length = common_length(offsets)
        pieces = SequenceSet(self._alphabet, codes, len(texts), length, None if length is not None else offsets)
        parts = []
        with blas_threads(self._n_jobs):
            for strand in self._strands:
                read = pieces if strand == "+" else pieces.reverse_complement()
                found = self._fitted.values(self._prepared, seen_through(self._path, read))
                parts.append(found[:, self._machine])
        both = np.stack(parts)
        if self._combine == "max":
            return both.max(axis=0)
        return both.sum(axis=0) if self._combine == "sum" else both.mean(axis=0)
