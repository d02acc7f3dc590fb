"""The normal of a fitted machine, word by word: Σ_q coef[q] φ(support q), with weights and scales inside.

Words are *placed* (the weighted degree kernel: a word counts from one position on) or *free* (`Spectrum` and all
others whose features are listed: a word counts wherever it lies).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import FittedModel, fitted_model
from ..gram.families import Family, families_of
from ..gram.feature_map import Group, groups_of
from ..kernels import Kernel
from ..kernels.pieces import Piece, pieces
from ..kernels.sparse_rows import Rows
from ..kernels.weighted_degree import code_matrix
from ..sequences import Alphabet, SequenceSet
from ..views import Path, Views
from .pair_words import has_whole_words, mean_weight, whole_words


def word_pieces(term: Kernel, X: Views) -> list[Piece]:
    """Take a term apart into kernels with words, or say that it has none."""
    found = pieces(term, X)
    if any(piece.core.word_kind is None for piece in found):
        raise InputError(
            f"{term!r} has no words to weigh. Words are read from WeightedDegree, Spectrum, Mismatch, GappedKmer and "
            "BagOfWords; what any term adds to predictions is in contributions(model, X).terms."
        )
    return found


def terms_with_words(fitted: FittedModel) -> list[int]:
    """Return the numbers of the terms of a machine that are made of words."""
    return [m for m, term in enumerate(fitted.terms) if all(p.core.word_kind for p in pieces(term, fitted.support))]


@dataclass
class Layer:
    """Placed words of one kernel: word u at i weighs table[i, k − 1] Σ_q Σ_s coef[q] moves[s] [q shows u at i + s].

    A sample x is in addition divided by the norms of its piece; `typical` is what that comes to on average.
    """

    table: np.ndarray
    moves: list[tuple[int, float]]
    coef: np.ndarray
    piece: Piece
    typical: float


@dataclass
class PlacedWords:
    """All placed words of some terms on one view; `support` are the sequences with coefficients."""

    path: Path
    support: SequenceSet
    layers: list[Layer] = field(default_factory=list)

    @property
    def view(self) -> Hashable:
        """The name of the view."""
        return label_of(self.path)

    @property
    def alphabet(self) -> Alphabet:
        """The letters of the words."""
        return self.support.alphabet

    @property
    def length(self) -> int:
        """Letters of a sequence."""
        return int(self.support.require_length())

    @property
    def degree(self) -> int:
        """Longest word."""
        return max(layer.table.shape[1] for layer in self.layers)

    @cached_property
    def stacked(self) -> tuple[np.ndarray, ...]:
        """All support sequences in all their moves, one below the other.

        codes (Q, length) uint8, coef (Q,), layer (Q,), tables (n_layers, length, degree), owner (Q,): whose copy it is.
        Coefficients hold the typical norm of a sample.
        """
        rows = code_matrix(self.support)
        n, length = rows.shape
        tables = np.zeros((len(self.layers), length, self.degree))
        codes, coef, number = [], [], []
        for m, layer in enumerate(self.layers):
            tables[m, :, : layer.table.shape[1]] = layer.table
            for shift, weight in layer.moves:
                moved = np.full((n, length), 255, np.uint8)
                low, high = max(0, -shift), max(0, min(length, length - shift))
                moved[:, low:high] = rows[:, low + shift : high + shift]
                codes.append(moved)
                coef.append(layer.coef * weight * layer.typical)
                number.append(np.full(n, m))
        owner = np.tile(np.arange(n), len(codes))
        return np.concatenate(codes), np.concatenate(coef), np.concatenate(number), tables, owner


@dataclass
class FreeWords:
    """One group of free words of a term: feature u adds normal[u] · (its value in x) to x, divided by norms of x."""

    group: Group
    support: SequenceSet
    rows: Rows
    normal: np.ndarray
    typical: float

    @property
    def view(self) -> Hashable:
        """The name of the view."""
        return label_of(self.group.piece.path)

    def counted(self, sequences: SequenceSet, X: Views) -> tuple[Rows, Rows, np.ndarray]:
        """Return how often features occur in other samples, what the kernel makes of that, and what it is times."""
        raw = self.group.vocabulary.map(sequences)
        rows, inverse = self.group.piece.core.finish(raw), self.group.piece.inverse_norms(X)
        return raw, rows, inverse if rows.scale is None else inverse * rows.scale

    def weights_at(self, starts: np.ndarray, row: np.ndarray, sequences: SequenceSet) -> np.ndarray | None:
        """Return what words weigh that start at these of all letters, in the samples `row`; None where all weigh 1."""
        core = self.group.piece.core
        n_places = sequences.lengths[row] - core.shortest_word() + 1
        return core.place_weights(starts - sequences.offsets[row], n_places)

    @property
    def worth(self) -> Any:
        """What every feature counts."""
        found = self.group.vocabulary.worths()
        return 1.0 if found is None else found

    @property
    def has_places(self) -> bool:
        """Whether the vocabulary says where its features stand."""
        return self.group.vocabulary.places(self.support.rows(slice(0, 0))) is not None

    @property
    def count(self) -> np.ndarray:
        """In how many support sequences every feature occurs."""
        return np.bincount(self.rows.ids, minlength=self.rows.n_columns)


@dataclass(frozen=True)
class WordView:
    """Terms whose words can be read together: one view, placed or free."""

    view: Hashable
    placed: bool
    terms: tuple[int, ...]


# -- from a model to its words ---------------------------------------------------------------------------------------


def word_views(model: Any) -> list[WordView]:
    """Return which terms of a model have words, in groups that can be read together.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass

    Returns
    -------
    list of WordView
        `view` names the column (None where there is only one), `placed` says whether words have positions, and `terms`
        is what `kmer_scores`, `importance`, `poim` and `logo` take as `term`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, Spectrum, WeightedDegree
    >>> from kernelweave.explain import word_views
    >>> model = MKLClassifier(WeightedDegree(degree=2) + Spectrum(k=2), norm="fixed")
    >>> word_views(model.fit(["ACG", "ATG", "CCC"], [0, 0, 1]))
    [WordView(view=None, placed=True, terms=(0,)), WordView(view=None, placed=False, terms=(1,))]
    """
    found: dict[tuple[Hashable, bool], list[int]] = {}
    fitted = fitted_model(model)
    for m in terms_with_words(fitted):
        pieces_of = word_pieces(fitted.terms[m], fitted.support)
        kinds = {(label_of(piece.path), piece.core.word_kind == "placed") for piece in pieces_of}
        if len(kinds) == 1:
            found.setdefault(kinds.pop(), []).append(m)
    return [WordView(view, placed, tuple(terms)) for (view, placed), terms in found.items()]


def label_of(path: Path) -> Hashable:
    """Return the name of a view: None where nothing was chosen."""
    names = tuple(_name(columns) for columns in path if not hasattr(columns, "given"))
    return None if not names else names[0] if len(names) == 1 else names


def _name(columns: Any) -> Hashable:
    if isinstance(columns, slice):
        return repr(columns)
    if isinstance(columns, (list, tuple)):
        return columns[0] if len(columns) == 1 else tuple(columns)
    return columns


def chosen(model: Any, term: Any, machine: int) -> tuple[FittedModel, list[tuple[float, Piece]], np.ndarray]:
    """Return the model, (weight / scale, piece) of every chosen term that counts, and the coefficients.

    Terms without words are left out where `term` is None, and are an error where they are named.
    """
    fitted = fitted_model(model)
    coef, factors = fitted.coef[fitted.machine(machine)], fitted.factors(machine)
    listed = (terms_with_words(fitted) or [0]) if term is None else _numbers(fitted, term)  # 0 says why there are none
    found = [(float(factors[m]), piece) for m in listed for piece in word_pieces(fitted.terms[m], fitted.support)]
    if len(fitted.rows) == 0:
        raise InputError("The machine has no support samples: it answers with its intercept and has learned no words.")
    return fitted, found, coef


def _numbers(fitted: FittedModel, term: Any) -> list[int]:
    """Return the numbers of terms that are given as numbers or names, one or several."""
    out = []
    for one in term if isinstance(term, (list, tuple, range, np.ndarray)) else [term]:
        if isinstance(one, str) and one in fitted.term_names:
            out.append(fitted.term_names.index(one))
        elif isinstance(one, (int, np.integer)) and 0 <= one < len(fitted.terms):
            out.append(int(one))
        else:
            names = ", ".join(fitted.term_names[:5]) + (", ..." if len(fitted.terms) > 5 else "")
            raise InputError(
                f"There is no term {one!r}; use a number from 0 to {len(fitted.terms) - 1} or a name: {names}."
            )
    return out


def placed_words(fitted: FittedModel, given: list[tuple[float, Piece]], coef: np.ndarray) -> list[PlacedWords]:
    """Return the placed words among the pieces, one record per view."""
    views, kept = fitted.support, np.flatnonzero(coef)
    placed = [(factor, piece) for factor, piece in given if piece.core.word_kind == "placed"]
    found: dict[Any, PlacedWords] = {}
    for family in families_of([piece for _, piece in placed]):
        path, inverse = family.piece.path, family.piece.inverse_norms(views)[kept]
        support, factors = family.sequences(views).rows(kept), np.array([placed[m][0] for m in family.numbers])
        words = found.setdefault((repr(path), support.alphabet), PlacedWords(path, support))
        words.layers += _layers(family, family.table(words.length, factors), coef[kept], inverse)
    return list(found.values())


def _layers(family: Family, table: np.ndarray, coef: np.ndarray, inverse: np.ndarray) -> Iterator[Layer]:
    """Yield the terms of a family as layers: one, or one per shift where positions have weights of their own."""
    given, length = (coef * inverse, family.piece, float(inverse.mean())), len(table)
    starts = family.core.start_weights(length) if family.core.shift else None
    if starts is None:
        yield Layer(table, family.moves(), *given)
        return
    for s, weight in family.moves():
        i = np.arange(length)
        there = (i + s >= 0) & (i + s < length)
        roots = np.sqrt(starts * np.where(there, starts[np.clip(i + s, 0, length - 1)], 0.0))
        yield Layer(table * roots[:, None], [(s, weight)], *given)


def free_words(fitted: FittedModel, given: list[tuple[float, Piece]], coef: np.ndarray) -> Iterator[FreeWords]:
    """Yield the free words among the pieces, one group of features after another."""
    from .._fast.sparse import scatter

    views, kept = fitted.support, np.flatnonzero(coef)
    for factor, piece in given:
        if piece.core.word_kind != "free":
            continue
        inverse = piece.inverse_norms(views)[kept]
        support = piece.core.sequences(views.through(piece.path)).rows(kept)
        if has_whole_words(piece, support):
            group, normal = whole_words(piece, support, factor * piece.scale * coef[kept] * inverse)
            typical = float(inverse.mean()) * mean_weight(piece, support)
            yield FreeWords(group, support, group.vocabulary.fit(support), normal, typical)
            continue
        for group in groups_of(piece, views):
            rows = piece.core.finish(group.vocabulary.fit(support))
            scales = np.ones(len(kept)) if rows.scale is None else rows.scale
            normal = np.zeros(rows.n_columns)
            ids, counts, starts = rows.arrays
            scatter(ids, counts, starts, np.arange(len(kept)), coef[kept] * inverse * scales, normal)
            normal *= factor * piece.scale * group.weight
            yield FreeWords(group, support, rows, normal, float((inverse * scales).mean()))
