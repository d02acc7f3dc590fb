"""Why a sample got its decision value: what terms, letters and words add to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import fitted_model
from ..gram.tables import Words
from ..kernels.sparse_rows import Rows
from ..kernels.weighted_degree import same_length
from ..parallel import blocks
from ..sequences import SequenceSet
from ..views import Path, Views
from .kmers import KmerTable, sorted_table
from .normals import (
    FreeWords,
    PlacedWords,
    chosen,
    free_words,
    placed_words,
    terms_with_words,
)

#: Words of either kind.
AnyWords = PlacedWords | FreeWords
#: Numbers that are held at a time: samples, positions and degrees.
BLOCK_NUMBERS = 1 << 23
#: Up to so many samples are compared with the support one by one, which is quicker than building tables for them.
FEW_SAMPLES = 8


@dataclass(frozen=True)
class Contributions:
    """What adds up to the decision values of some samples.

    decision = intercept + Σ_m terms[:, m] = intercept + Σ over letters of `positions` + `unplaced`.
    """

    #: (n, n_terms): what every term adds.
    terms: np.ndarray
    #: (n,): the decision values.
    decision: np.ndarray
    intercept: float
    term_names: list[str]
    #: For every view of sequences, what every letter adds, (n, letters); zero beyond the end of a shorter sequence.
    by_view: dict[Hashable, np.ndarray]
    #: (n,): what the terms without words add, and words that have no place.
    unplaced: np.ndarray
    _words: list[AnyWords] = field(repr=False)
    _views: Views = field(repr=False)

    @property
    def positions(self) -> np.ndarray:
        """What every letter adds, (n, letters): the weight of a word is shared evenly by the letters that it covers.

        Letters of text are the bytes of its UTF-8.
        """
        if len(self.by_view) == 1:
            return next(iter(self.by_view.values()))
        if not self.by_view:
            raise InputError("No term of this model has words with places; .terms says what every term adds.")
        names = ", ".join(map(repr, self.by_view))
        raise InputError(f"The model sees several views of sequences; choose one with .by_view[...]: {names}.")

    def kmers(self, i: int, top: int | None = None) -> KmerTable:
        """Return the words of sample i and what each adds to its decision value, by falling |weight|."""
        if not -len(self.decision) <= i < len(self.decision):
            raise InputError(f"There are {len(self.decision)} samples, so there is no sample {i}.")
        sample = self._views.rows(np.array([i % len(self.decision)]))
        sums: dict[Any, float] = {}
        for words in self._words:
            for kmer, position, weight in _words_in(words, sample):
                key = (words.view, position, kmer)
                sums[key] = sums.get(key, 0.0) + weight
        rows = [(*key, weight) for key, weight in sums.items() if weight != 0.0]
        columns = {
            "kmer": np.array([kmer for _, _, kmer, _ in rows], dtype=object),
            "position": np.array([position for _, position, _, _ in rows], dtype=np.int64),
            "weight": np.array([weight for *_, weight in rows], dtype=np.float64),
        }
        if len({words.view for words in self._words}) > 1:
            columns["view"] = np.array([str(view) for view, *_ in rows], dtype=object)
        return sorted_table(columns, top)


def contributions(model: Any, X: Any, *, machine: int = 0) -> Contributions:
    """Return what every term, letter and word adds to the decision values of some samples.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    X : samples, as for `predict`
    machine : int
        Which machine, where there are several classes.

    Returns
    -------
    Contributions
        `terms`, `positions` (by letter), `kmers(i)`, `unplaced`, `intercept` and `decision`. Words that stand for
        others, as in the mismatch kernel, are listed as they stand in the sample; those without a place have
        position −1.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import contributions
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> why = contributions(model, ["AACG"])
    >>> bool(abs(why.positions.sum() + why.intercept - model.decision_function(["AACG"])[0]) < 1e-9)
    True
    """
    fitted = fitted_model(model)
    machine, views = fitted.machine(machine), fitted.views(X)
    parts = fitted.parts(views)[:, :, machine].T
    intercept = float(fitted.intercepts[machine])
    listed = terms_with_words(fitted)
    words: list[AnyWords] = []
    if listed and len(fitted.rows):
        _, pieces, coef = chosen(fitted, listed, machine)
        words = [*placed_words(fitted, pieces, coef), *free_words(fitted, pieces, coef)]
    by_view: dict[Hashable, np.ndarray] = {}
    unplaced = np.delete(parts, listed, axis=1).sum(axis=1)
    for found in words:
        if isinstance(found, FreeWords) and not found.has_places:
            row, _, values = _values_by_feature(found, views)
            unplaced += np.bincount(row, values, minlength=len(unplaced))
            continue
        added = _letters_in(found, views)
        by_view[found.view] = by_view[found.view] + added if found.view in by_view else added
    names = list(fitted.term_names)
    return Contributions(parts, parts.sum(axis=1) + intercept, intercept, names, by_view, unplaced, words, views)


def _sequences(words: AnyWords, X: Views) -> SequenceSet:
    """Return the sequences that the words are looked up in, over the alphabet of the support."""
    path: Path = words.path if isinstance(words, PlacedWords) else words.group.piece.path
    return X.through(path).sequences_like(words.support)


def _letters_in(words: AnyWords, X: Views) -> np.ndarray:
    """What every letter of every sample gets, (n, letters)."""
    sequences = _sequences(words, X)
    out = np.zeros((len(X), int(sequences.lengths.max(initial=0)) + 1))
    if isinstance(words, PlacedWords):
        for rows, first, values in _placed_values(words, sequences, X):
            size, degree, _ = values.shape
            shares = values / np.arange(1, degree + 1)[:, None]
            out[rows, first : first + size] += shares.sum(axis=1).T
            for k in range(1, degree + 1):  # a word ends to count here
                stop = min(first + size, out.shape[1] - k)
                out[rows, first + k : stop + k] -= shares[: max(0, stop - first), k - 1].T
        return np.cumsum(out, axis=1)[:, :-1]
    place = sequences.offsets
    flat = np.zeros(sequences.n_letters)
    for starts, covers, values in _free_values(words, sequences, X):
        for column in covers:
            np.add.at(flat, starts + column, values / len(covers))
    for r in range(len(out)):
        out[r, : place[r + 1] - place[r]] = flat[place[r] : place[r + 1]]
    return out[:, :-1]


def _words_in(words: AnyWords, X: Views) -> Iterator[tuple[str, int, float]]:
    """Yield (word, position, what it adds) of the one sample in X."""
    sequences = _sequences(words, X)
    codes, alphabet = sequences.codes(0), sequences.alphabet
    if isinstance(words, PlacedWords):
        for _, first, values in _placed_values(words, sequences, X):
            for i, k in zip(*np.nonzero(values[:, :, 0]), strict=True):
                start = first + int(i)
                yield alphabet.decode(codes[start : start + k + 1]), start, float(values[i, k, 0])
        return
    if not words.has_places:
        _, ids, values = _values_by_feature(words, X)
        texts = words.group.vocabulary.texts(ids, words.support)
        yield from ((text, -1, float(value)) for text, value in zip(texts, values, strict=True))
        return
    shape = words.group.vocabulary.shape
    for starts, covers, values in _free_values(words, sequences, X):
        columns = np.sort(covers)
        for start, value in zip(starts, values, strict=True):
            text = alphabet.decode(codes[start + columns])
            yield shape.text(text, columns) if shape and shape.has_gaps else text, int(start), float(value)


def _placed_values(words: PlacedWords, sequences: SequenceSet, X: Views) -> Iterator[tuple[slice, int, np.ndarray]]:
    """Yield (samples, first position, what words add by position, length and sample)."""
    same_length(sequences, words.support)
    for layer in words.layers:
        if not layer.table.any():
            continue
        inverse = layer.piece.inverse_norms(X)
        index = Words(words.support, layer.coef, layer.moves, np.ascontiguousarray(layer.table), apart=True)
        degree = layer.table.shape[1]
        for positions in index.ranges(0, words.length):
            few, size = len(sequences) <= FEW_SAMPLES, positions.stop - positions.start
            forest = None if few else index.build(positions)
            for rows in blocks(len(sequences), max(1, BLOCK_NUMBERS // (size * degree))):
                values = np.zeros((size * degree, rows.stop - rows.start))
                if few:
                    index.compare(positions, sequences.rows(rows), values)
                else:
                    index.look_up(forest, sequences.rows(rows), values)
                shaped = values.reshape(size, degree, -1) * layer.table[positions, :, None]
                yield rows, positions.start, shaped * inverse[rows]


def _free_values(
    words: FreeWords, sequences: SequenceSet, X: Views
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (where words start in all letters, which letters from there on they cover, what they add)."""
    raw, rows, factor = words.counted(sequences, X)
    changed = rows.counts is not raw.counts  # as for binary values: all occurrences together count as one
    for starts, columns, ids in words.group.vocabulary.places(sequences) or ():
        row = np.searchsorted(sequences.offsets, starts, side="right") - 1
        values = np.where(ids >= 0, np.append(words.normal, 0.0)[ids], 0.0) * factor[row, None]
        if changed:
            values *= _shares(raw, rows, row, ids)
        weights = words.weights_at(starts, row, sequences)
        if weights is not None:
            values *= weights[:, None]
        summed = values.reshape(len(values), len(columns), values.shape[1] // len(columns)).sum(axis=2)
        for reading, covers in enumerate(columns):
            yield starts, covers, summed[:, reading]


def _shares(raw: Rows, rows: Rows, row: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the kernel's value of features for every time that they occur, of samples `row` and features `ids`."""
    keys = np.repeat(np.arange(len(raw)), np.diff(raw.starts)) * raw.n_columns + raw.ids
    order = np.argsort(keys)
    found = np.searchsorted(keys[order], row[:, None] * raw.n_columns + np.maximum(ids, 0))
    each = np.append(np.divide(rows.counts, raw.counts, dtype=np.float64)[order], 0.0)
    return np.where(ids >= 0, each[np.minimum(found, len(order))], 0.0)


def _values_by_feature(words: FreeWords, X: Views) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (sample, feature, what it adds) of features, wherever they stand."""
    _, rows, factor = words.counted(_sequences(words, X), X)
    row = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    return row, rows.ids, words.normal[rows.ids] * rows.counts * factor[row]
