"""The words of a machine and their weights, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .normals import FreeWords, PlacedWords, chosen, free_words, placed_words
from .tables import Table

#: Words beyond which a table is too long to be of use.
MAX_ROWS = 5_000_000


class KmerTable(Table):
    """Words and what they weigh, by falling |weight|.

    Columns: "kmer", "position" (where it starts, from 0 on; −1 for words that count anywhere), "weight", and where it
    is known "count", in how many support sequences it stands there; "view" where there are several.
    """

    def __str__(self) -> str:
        """The first rows as text."""
        lines = [f"{'weight':>10}  {'position':>8}  kmer"]
        rows = zip(self["weight"][:20], self["position"][:20], self["kmer"][:20], strict=True)
        lines += [f"{weight:>10.4g}  {position:>8}  {kmer}" for weight, position, kmer in rows]
        return "\n".join(lines + ([f"and {len(self) - 20} more"] if len(self) > 20 else []))


def kmer_table(
    model: Any, *, term: Any = None, machine: int = 0, top: int | None = None, min_weight: float = 0.0
) -> KmerTable:
    """Return the words of a machine with their weights: what one occurrence adds to the decision value.

    weight(u) = Σ_m weights[m] / scales[m] Σ_q coef[q] φ_u(support q), summed over the terms: the entries of the normal.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    term : int, str or list of them
        Which terms to read; all that have words by default.
    machine : int
        Which machine, where there are several classes.
    top : int or None
        Only the words of the largest ``|weight|``.
    min_weight : float
        Only words whose ``|weight|`` is above this.

    Notes
    -----
    Where the kernel is normalised, or counts shares, weights are those in a sequence of average norm. A dot in a gapped
    word stands for any letter.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, Spectrum
    >>> from kernelweave.explain import kmer_table
    >>> model = MKLClassifier(Spectrum(k=3)).fit(["GATTACA", "CGATTC", "CCCTC", "TTTCC"], [1, 1, 0, 0])
    >>> kmer_table(model, top=2)["kmer"].tolist()
    ['ATT', 'GAT']
    """
    if top is not None and not (isinstance(top, (int, np.integer)) and top >= 1):
        raise InputError(f"top must be a whole number ≥ 1, or None for all words; got {top!r}.")
    if not 0.0 <= min_weight < np.inf:
        raise InputError(f"min_weight must be a finite number ≥ 0; got {min_weight!r}.")
    fitted, pieces, coef = chosen(model, term, machine)
    parts = [_placed_table(words, top, min_weight) for words in placed_words(fitted, pieces, coef)]
    parts.append(_free_table(list(free_words(fitted, pieces, coef)), top, min_weight))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if len({repr(view) for view in joined["view"]}) <= 1:
        del joined["view"]
    return sorted_table(joined, top)


def sorted_table(columns: dict[str, Any], top: int | None = None) -> KmerTable:
    """Return a table by falling |weight|; equal ones by position and word, so that the order is always the same."""
    order = np.lexsort((columns["kmer"].astype(str), columns["position"], -np.abs(columns["weight"])))[:top]
    chosen = {name: values[order] for name, values in columns.items()}
    return KmerTable(chosen | {"kmer": np.array([_printable(word) for word in chosen["kmer"]], dtype=object)})


def _printable(word: str) -> str:
    """Return a word that can be written: words of UTF-8 may begin or end within a character."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _columns(view: list[Any], kmer: list[str], position: Any, weight: Any, count: Any) -> dict[str, np.ndarray]:
    texts, views = np.empty(len(kmer), object), np.empty(len(kmer), object)
    texts[:], views[:] = kmer, view
    return {
        "view": views,
        "kmer": texts,
        "position": np.asarray(position, np.int64),
        "weight": np.asarray(weight, np.float64),
        "count": np.asarray(count, np.int64),
    }


def _placed_table(words: PlacedWords, top: int | None, min_weight: float) -> dict[str, np.ndarray]:
    """The placed words of one view, position by position; with `top`, no more of them are ever held."""
    from .._fast.importance import list_words

    codes, coef, layer, tables, owner = words.stacked
    letters, order = np.ascontiguousarray(codes.T), np.arange(len(codes))
    best, threshold, held = np.empty((0, 5)), min_weight, 0
    kept = [best]
    for p in range(len(letters) - 1, -1, -1):
        here = np.minimum(letters[p][order], min(words.alphabet.size, 255))
        order = order[np.argsort(here, kind="stable")]  # sorted from p + 1 on becomes sorted from p on
        found, weights = list_words(letters, coef, layer, tables, owner, order, p, words.alphabet.size, threshold)
        # columns: weight, position, letters, a row that shows the word, count
        kept.append(np.column_stack([weights, np.full(len(weights), p), found]))
        held += len(weights)
        if top is not None and held > top:
            best = np.concatenate(kept)
            size = np.abs(best[:, 0])
            threshold = max(min_weight, np.nextafter(np.partition(size, -top)[-top], 0.0))  # ties stay in
            best = best[size > threshold]
            kept, held = [best], len(best)
        if held > MAX_ROWS:
            raise InputError(
                f"The machine has more than {MAX_ROWS:,} words; ask for the largest with top=1000, or for those above "
                "some min_weight."
            )
    best = np.concatenate(kept)
    position, size, row = best[:, 1:4].astype(np.int64).T
    texts = [words.alphabet.decode(codes[r, p : p + k]) for r, p, k in zip(row, position, size, strict=True)]
    return _columns([words.view] * len(texts), texts, position, best[:, 0], best[:, 4])


def _free_table(parts: list[FreeWords], top: int | None, min_weight: float) -> dict[str, np.ndarray]:
    """The free words of all groups; the same word of several terms of one kind is one row."""
    sums: dict[Any, list[Any]] = {}
    single = len(parts) == 1
    for part in parts:
        weights, counts = part.normal * part.typical * part.worth, part.count
        # words that no support sequence shows may weigh something, too, by those that are near
        features = np.flatnonzero((counts > 0) & (np.abs(weights) > (min_weight if single else 0.0)))
        if single and top is not None and len(features) > top:
            least = np.partition(np.abs(weights[features]), -top)[-top]
            features = features[np.abs(weights[features]) >= least]
        kind = (part.view, type(part.group.piece.core).__name__)
        for u, text in zip(features, part.group.vocabulary.texts(features, part.support), strict=True):
            row = sums.setdefault((*map(repr, kind), text), [part.view, text, 0.0, 0])
            row[2] += weights[u]
            row[3] = max(row[3], int(counts[u]))
        if len(sums) > MAX_ROWS:
            raise InputError(
                f"The machine has more than {MAX_ROWS:,} words; choose one term with term=..., and top=1000."
            )
    rows = [row for row in sums.values() if abs(row[2]) > min_weight]
    views, texts, sizes, often = ([row[i] for row in rows] for i in range(4))
    return _columns(views, texts, np.full(len(rows), -1), sizes, often)


def letters_of(part: FreeWords) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the words in a row that weigh anything: letters (M, k), lengths (M,), weights (M,).

    A word that stands for its reverse complement as well comes as either.
    """
    features, vocabulary = np.flatnonzero(part.normal * (part.count > 0)), part.group.vocabulary
    words, weights = vocabulary.letters(features, part.support), part.normal[features]
    if vocabulary.shape is not None and vocabulary.shape.both_strands:
        other = part.group.alphabet.complement_table[words[:, ::-1]]
        differs = (other != words).any(axis=1)
        words = np.concatenate([words, other[differs]])
        weights = np.concatenate([weights, weights[differs]])
    return np.ascontiguousarray(words), np.full(len(words), words.shape[1]), weights
