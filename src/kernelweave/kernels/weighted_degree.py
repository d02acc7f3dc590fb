"""The weighted degree kernel: words of every length that two sequences share at the same, or nearly the same, place."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..parallel import blocks
from ..views import Views
from .strings import StringKernel, whole_number
from .values import real_numbers, shown

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet

#: The code that matches nothing.
_NOTHING = 255
#: Sequences that are unpacked at a time for their own values.
_DIAG_ROWS = 1 << 16


@dataclass(eq=False, repr=False)
class WeightedDegree(StringKernel):
    """k(x, y) = Σ_k weights[k] Σ_i position_weights[i] · [x and y agree on the k letters from i on].

    With `shift` > 0 words also count where they stand up to `shift` places apart:
    Σ_k weights[k] Σ_i Σ_s shift_weights[s] ([x at i + s = y at i] + [x at i = y at i + s]), k letters each; position
    weights then are √(position_weights[i] · position_weights[i + s]). Sequences must be equally long.

    Parameters
    ----------
    degree : int
        Longest word, up to 10,000 letters. Words longer than the sequences never occur, but the default weights
        are spread over them as well.
    shift : int
        Most places by which words may be moved against each other, up to 10,000.
    weights : array of shape (degree,) or None
        Of every word length; 2 (degree − k + 1) / (degree (degree + 1)) by default.
    position_weights : array of shape (length,) or None
        Of every position where a word starts; 1 by default.
    shift_weights : array of shape (shift + 1,) or None
        Of every distance, in each direction; 1 / (2 (s + 1)) by default, so that a word in place counts once.
    alphabet : str or Alphabet
        "dna", "rna", "protein", "bytes", "text", or "auto" to guess it from the data.

    Examples
    --------
    >>> from kernelweave import WeightedDegree
    >>> WeightedDegree(degree=2)(["ACGT", "ACGA"])
    array([[3.66666667, 2.66666667],
           [2.66666667, 3.66666667]])
    >>> WeightedDegree(degree=2).split("degree")
    WeightedDegree(degree=2).split('degree')
    """

    degree: int = 20
    shift: int = 0
    weights: Any = None
    position_weights: Any = None
    shift_weights: Any = None
    alphabet: str | Alphabet = "auto"
    always_shown = ("degree",)

    splits = ("degree", "position")
    word_kind = "placed"

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        # with shifts, a position weight belongs to a pair of positions and not to a word
        return "linadd" if self.position_weights is None or not self.shift else "dense"

    @property
    def definite(self) -> bool:  # type: ignore[override]
        # the default weights of distances are the coefficients of a cosine sum that is nowhere negative
        # (Rogosinski and Szegő), other weights need not be
        return not self.shift or self.shift_weights is None

    @property
    def even_norm(self) -> bool:  # type: ignore[override]
        return not self.shift

    # -- parameters --------------------------------------------------------------------------------------------------

    def degree_weights(self, only: int | None = None) -> np.ndarray:
        """Return the weight of every word length, (degree,); up to one degree, and zero for the others, if `only`."""
        d = whole_number(self, "degree")
        if self.weights is None:
            beta = 2.0 * np.arange(d, 0, -1) / (d * (d + 1))
        else:
            beta = _weights("weights", self.weights, d, "one per degree")
        if only is None:
            return beta
        if not 1 <= only <= d:
            raise InputError(f"{self!r} has degrees 1 to {d}; there is no part of degree {only}.")
        return np.where(np.arange(1, only + 1) == only, beta[:only], 0.0)

    def distance_weights(self) -> np.ndarray:
        """Return the weight of every distance in each direction, (shift + 1,)."""
        s = whole_number(self, "shift", 0)
        if self.shift_weights is None:
            return 0.5 / np.arange(1, s + 2)
        return _weights("shift_weights", self.shift_weights, s + 1, "one per shift from 0 on")

    def start_weights(self, length: int) -> np.ndarray | None:
        """Return the weight of every position, (length,), or None where all are 1."""
        if self.position_weights is None:
            return None
        return _weights("position_weights", self.position_weights, length, "one per letter of the sequences")

    def table(self, length: int, degree: int | None = None, position: int | None = None) -> np.ndarray:
        """Return the weight of every position and degree, (length, degree), for shift = 0."""
        beta, starts = self.degree_weights(degree), self.start_weights(length)
        table = np.tile(beta, (length, 1)) if starts is None else np.outer(starts, beta)
        if position is not None:
            table[np.arange(length) != self._position(position, length)] = 0.0
        return table * 2.0 * self.distance_weights()[0]

    def _position(self, position: int, length: int) -> int:
        if whole_number(self, "shift", 0):
            raise InputError("With shift > 0 a word belongs to two positions, so there are no parts by position.")
        if not 0 <= position < length:
            raise InputError(f"The sequences have {length} letters, so there is no position {position} (from 0 on).")
        return position

    # -- values ------------------------------------------------------------------------------------------------------

    def check(self, X: Views) -> None:
        self.table(length_of(self.sequences(X)))

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        if self.shift:
            raise InputError("Only the kernel without shift is a plain sum over features; use shift=0.")
        table = self.table(len(self.letters(sequence)[0]))
        for k in range(1, self.degree + 1):
            for i, word in self.words(sequence, k):
                yield 0, (i, word), float(np.sqrt(table[i, k - 1]))

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        return self.compute_part(X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        return self.part_diag(X)

    def choices(self, X: Views, by: tuple[str, ...]) -> Iterator[dict[str, int]]:
        length = length_of(self.sequences(X))
        degrees: list[int | None] = list(range(1, min(self.degree, length) + 1)) if "degree" in by else [None]
        for i in [self._position(i, length) for i in range(length)] if "position" in by else [None]:
            for k in degrees:
                if i is None or k is None or i + k <= length:  # no word of k letters starts so near the end
                    pair = {"degree": k, "position": i}
                    yield {name: value for name, value in pair.items() if value is not None}

    def compute_part(self, X: Views, Y: Views | None, **chosen: int | None) -> np.ndarray:
        a, b = self.pair(X, Y)
        same_length(a, b)
        degree, position = chosen.get("degree"), chosen.get("position")
        if position is not None:
            return self._at_position(code_matrix(a), code_matrix(b), degree, position)
        if self.position_weights is not None:
            return self._by_runs(code_matrix(a), code_matrix(b), degree)
        return self._by_bits(a, b, degree)

    def _by_bits(self, a: SequenceSet, b: SequenceSet, degree: int | None) -> np.ndarray:
        from .._fast.weighted_degree import wd_block, wd_shift_block

        out = np.empty((len(a), len(b)))
        beta, delta = self.degree_weights(degree), self.distance_weights()
        if len(delta) == 1:
            wd_block(planes_of(a), planes_of(b), 2.0 * delta[0] * beta, out)
        else:
            wd_shift_block(planes_of(a), planes_of(b), beta, delta, out)
        return out

    def _by_runs(self, codes_a: np.ndarray, codes_b: np.ndarray, degree: int | None) -> np.ndarray:
        from .._fast.weighted_degree import wd_weighted_block

        out, part = np.zeros((len(codes_a), len(codes_b))), np.empty((len(codes_a), len(codes_b)))
        for moved_a, moved_b, sums in self._moved(codes_a, codes_b, degree):
            wd_weighted_block(moved_a, moved_b, sums, part)
            out += part
        return out

    def _at_position(self, codes_a: np.ndarray, codes_b: np.ndarray, degree: int | None, position: int) -> np.ndarray:
        """One word from one position on: only the letters that it may hold are compared."""
        from .._fast.bits import pack_planes
        from .._fast.weighted_degree import wd_position_block

        beta = self.table(codes_a.shape[1], degree, position)[position]
        window = slice(position, position + len(beta))
        bits = _bits(codes_a, codes_b)
        planes_a, planes_b = (pack_planes(np.ascontiguousarray(codes[:, window]), bits) for codes in (codes_a, codes_b))
        out = np.empty((len(codes_a), len(codes_b)))
        wd_position_block(planes_a, planes_b, beta, 0, out)
        return out

    def _moved(self, codes_a: np.ndarray, codes_b: np.ndarray, degree: int | None) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the sequences moved against each other by every shift, with the weights of what then agrees."""
        from .._fast.weighted_degree import cumulative

        length = codes_a.shape[1]
        beta, starts = self.degree_weights(degree), self.start_weights(length)
        roots = np.ones(length) if starts is None else np.sqrt(starts)
        for s, weight in enumerate(self.distance_weights()[:length]):
            sums = cumulative(weight * np.outer(roots[: length - s] * roots[s:], beta))
            left, right = np.ascontiguousarray(codes_a[:, s:]), np.ascontiguousarray(codes_b[:, : length - s])
            yield left, right, sums
            left, right = np.ascontiguousarray(codes_a[:, : length - s]), np.ascontiguousarray(codes_b[:, s:])
            yield left, right, sums

    def part_diag(self, X: Views, **chosen: int | None) -> np.ndarray:
        sequences, (degree, position) = self.sequences(X), (chosen.get("degree"), chosen.get("position"))
        if self.shift and position is None:
            out = np.zeros(len(sequences))
            for part in blocks(len(sequences), _DIAG_ROWS):
                self._add_shifted_diag(sequences.rows(part), degree, out[part])
            return out
        # without shift a sequence agrees with itself wherever its letters are known: the others are all alike
        length = length_of(sequences)
        table = self.table(length, degree, position)
        fits = np.arange(length)[:, None] + np.arange(1, table.shape[1] + 1) <= length
        out = np.full(len(sequences), (table * fits).sum())
        doubtful = np.unique(sequences.unknown // max(1, length))
        for part in blocks(len(doubtful), _DIAG_ROWS):
            out[doubtful[part]] = _self_values(sequences.rows(doubtful[part]), table)
        return out

    def _add_shifted_diag(self, sequences: SequenceSet, degree: int | None, out: np.ndarray) -> None:
        from .._fast.weighted_degree import wd_pairs

        codes, part = code_matrix(sequences), np.empty(len(sequences))
        for left, right, sums in self._moved(codes, codes, degree):
            wd_pairs(left, right, sums, part)
            out += part


def _self_values(sequences: SequenceSet, table: np.ndarray) -> np.ndarray:
    """Return k(x, x) with these weights of every position and degree."""
    from .._fast.weighted_degree import cumulative, wd_pairs

    codes, out = code_matrix(sequences), np.empty(len(sequences))
    wd_pairs(codes, codes, cumulative(table), out)
    return out


# -- letters as arrays -----------------------------------------------------------------------------------------------


def code_matrix(sequences: SequenceSet) -> np.ndarray:
    """Return the codes of equally long sequences, (n, length), or say which lengths there are."""
    return sequences.derived("codes", _codes)


def planes_of(sequences: SequenceSet) -> np.ndarray:
    """Return the letters as planes of bits, as `_fast.weighted_degree` compares them."""
    return sequences.derived("planes", _planes)


def length_of(sequences: SequenceSet) -> int:
    """Return the common length of sequences that can be compared place by place; nothing is unpacked."""
    if sequences.alphabet.size == 256:
        code_matrix(sequences)  # which refuses the byte that stands for an unknown letter
    return sequences.require_length()


def same_length(a: SequenceSet, b: SequenceSet) -> None:
    """Raise `InputError` where two sets differ in length."""
    length_a, length_b = length_of(a), length_of(b)
    if length_a != length_b:
        raise InputError(
            f"Sequences of {length_a} letters cannot be compared place by place with sequences of "
            f"{length_b}; cut them to one window, or use a kernel that takes any length, such as Spectrum."
        )


def _codes(sequences: SequenceSet) -> np.ndarray:
    codes = sequences.as_matrix()
    if sequences.alphabet.size == 256 and (codes == _NOTHING).any():
        raise InputError(
            "Byte 255 stands for an unknown letter here, but it occurs in the sequences; replace it, or list the "
            "letters there are: alphabet=Alphabet('...')."
        )
    return codes


def _planes(sequences: SequenceSet) -> np.ndarray:
    from .._fast.bits import pack_planes

    return pack_planes(code_matrix(sequences), sequences.alphabet.bits)


def _bits(*codes: np.ndarray) -> int:
    known = [int(part[part != _NOTHING].max(initial=0)) for part in codes]
    return max(1, max(known).bit_length())


def _weights(name: str, values: Any, size: int, what: str) -> np.ndarray:
    weights = real_numbers(values)
    if weights.shape != (size,):
        raise InputError(f"{name} must be {size} numbers, {what}; got an array of shape {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError(f"{name} must be finite and ≥ 0, or it is not a kernel; got {shown(weights.tolist())}.")
    return weights
