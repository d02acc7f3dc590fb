"""From sequences to sparse rows of counts: a `Vocabulary` gives every feature a number, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import clock
from .sparse_rows import MAX_SINGLE, Rows

if TYPE_CHECKING:
    from ..sequences import SequenceSet

#: Up to this many bits a key is its own number: the normal is a table of 8 MB at the most.
TABLE_BITS = 20
#: Keys that are extracted at a time; they take 8 bytes each until they are counted.
BLOCK_KEYS = 1 << 22
#: Sequences as codes and offsets -> keys with repeats and where each row of them starts.
Keys = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Shape:
    """How words look that compare letters at fixed distances: letters in all, and which of them are compared."""

    span: int
    #: (readings, letters compared): a gapped word is read on one strand or on both.
    columns: np.ndarray
    #: A word stands for its reverse complement as well.
    both_strands: bool = False

    @classmethod
    def run(cls, k: int, both_strands: bool = False) -> Shape:
        """Return the shape of k letters in a row."""
        return cls(k, np.arange(k)[None], both_strands)

    @property
    def has_gaps(self) -> bool:
        """Whether some letters are not compared."""
        return self.columns.shape[1] < self.span

    def text(self, letters: str, columns: np.ndarray) -> str:
        """Return letters at their columns, and dots elsewhere."""
        text = ["."] * self.span
        for letter, column in zip(letters, columns, strict=True):
            text[column] = letter
        return "".join(text)


#: Words of one shape: where they start in all letters (M,), which letters from there on they compare, one row for each
#: reading (readings, letters), and their features, (M, readings · features of a reading), −1 for those that are new.
Found = tuple[np.ndarray, np.ndarray, np.ndarray]


class Vocabulary:
    """Numbers for features: `fit` gives them out, `map` uses them and leaves out features without one.

    That is all a vocabulary must do. One that also says where its features stand (`places`), and how they are written
    (`texts`), is explained letter by letter.
    """

    #: How the words look, where all compare letters at the same distances.
    shape: Shape | None = None

    #: Bits of the key that every feature has (`keys_of`); None where a feature may be longer than any key.
    key_bits: int | None = None

    def worths(self) -> np.ndarray | None:
        """Return what every feature that has a number counts; None where all count 1."""
        return None

    def keys_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the keys of features that have numbers, uint64."""
        raise NotImplementedError

    def most(self, n_letters: float) -> float:
        """Return how many different features a sequence of so many letters has, at the most."""
        return n_letters

    def fit(self, sequences: SequenceSet) -> Rows:
        """Number the features of these sequences, and count them."""
        raise NotImplementedError

    def expected(self, sequences: SequenceSet) -> tuple[float, float, float]:
        """Return how many features random texts of these lengths have, how many different ones, and keys at a time.

        Nothing is looked at but the lengths.
        """
        n_keys = float(sequences.n_letters)
        return n_keys, n_keys, n_keys

    def map(self, sequences: SequenceSet) -> Rows:
        """Count the numbered features of other sequences."""
        raise NotImplementedError

    def places(self, sequences: SequenceSet) -> Iterable[Found] | None:
        """Return where numbered features stand in some sequences; None where features have no places."""
        return None

    @property
    def counts_runs(self) -> bool:
        """Whether a feature is a run of letters, and counted where these letters stand and nowhere else."""
        return self.shape is not None and not self.shape.has_gaps

    @property
    def word(self) -> int | None:
        """Letters of a word where the features are all words of a text, as they stand there; else None."""
        return self.shape.span if self.shape and self.counts_runs and not self.shape.both_strands else None

    def letters(self, features: np.ndarray, known: SequenceSet) -> np.ndarray:
        """Return the letters that features compare, (features, letters) uint8; `known` was fitted.

        Only for vocabularies with a `shape`.
        """
        raise NotImplementedError

    def texts(self, features: np.ndarray, known: SequenceSet) -> list[str]:
        """Return features as text, with a dot for every letter that is not compared; `known` was fitted."""
        if self.shape is None:
            return [f"feature {feature}" for feature in features]
        words = [known.alphabet.decode(row) for row in self.letters(features, known)]
        return [self.shape.text(word, self.shape.columns[0]) for word in words] if self.shape.has_gaps else words


class KeyVocabulary(Vocabulary):
    """Features that are keys of at most 64 bits: few bits are their own numbers, many are looked up and sorted.

    Parameters
    ----------
    keys : callable
        Extracts keys, with repeats.
    bits : int
        Bits of a key.
    growth : int
        Keys per letter, at the most.
    shape : Shape or None
        How the words look whose keys are extracted: `growth` keys for every word without unknown letters, in order, of
        as many bits for each letter compared, the first letter highest. None where keys are something else.
    table : bool or None
        Whether a key is its own number; None: where it has few bits.
    """

    def __init__(
        self, keys: Keys, bits: int, growth: int = 1, shape: Shape | None = None, table: bool | None = None
    ) -> None:
        self.keys, self.bits, self.growth, self.shape = keys, bits, growth, shape
        self.key_bits = bits
        self.table = bits <= TABLE_BITS if table is None else table
        #: The features in order: feature number i is dictionary[i]; None where a key is its own number.
        self.dictionary: np.ndarray | None = None
        self._slots, self._entries = np.zeros(64, np.uint64), np.full(64, -1)

    def keys_of(self, ids: np.ndarray) -> np.ndarray:
        return ids.astype(np.uint64) if self.dictionary is None else self.dictionary[ids]

    def most(self, n_letters: float) -> float:
        return min(self.growth * n_letters, 2.0**self.bits)

    def expected(self, sequences: SequenceSet) -> tuple[float, float, float]:
        most, keys = 2.0**self.bits, self.growth * sequences.lengths.astype(np.float64)
        each = -most * np.expm1(-keys / most)  # of so many keys at random, how many differ
        # the entry of a table takes a sixth of what a feature takes that gets a number
        features = most / 6 if self.table else -most * np.expm1(-keys.sum() / most)
        return float(each.sum()), float(features), float(min(keys.sum(), BLOCK_KEYS))

    def _blocks(self, sequences: SequenceSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield keys and starts for a few rows at a time."""
        offsets, n, row = sequences.offsets, len(sequences), 0
        while row < n:
            clock.check()
            limit = offsets[row] + max(1, BLOCK_KEYS // self.growth)
            stop = max(row + 1, int(np.searchsorted(offsets, limit, side="right")) - 1)
            part = sequences.rows(slice(row, stop))
            yield self.keys(part.flat_codes(), part.offsets)
            row = stop

    def fit(self, sequences: SequenceSet) -> Rows:
        return self._count_table(sequences) if self.table else self._fit_sorted(sequences)

    def map(self, sequences: SequenceSet) -> Rows:
        return self._count_table(sequences) if self.table else self._map_sorted(sequences)

    def _room(self, sequences: SequenceSet) -> tuple[np.ndarray, np.ndarray]:
        # memory is taken only where it is written to, so room for the worst case costs nothing
        most = self.growth * sequences.n_letters
        if self.table:
            most = min(most, len(sequences) << self.bits)
        longest = int(sequences.lengths.max(initial=0))
        single = self.growth * longest <= MAX_SINGLE
        return np.empty(most, np.int32), np.empty(most, np.float32 if single else np.float64)

    def _count_table(self, sequences: SequenceSet) -> Rows:
        from .._fast.features import count_table

        ids, counts = self._room(sequences)
        scratch, starts = np.zeros(1 << self.bits, np.int64), [np.zeros(1, np.int64)]
        for keys, cuts in self._blocks(sequences):
            starts.append(count_table(keys, cuts, scratch, ids, counts, starts[-1][-1])[1:])
        return _rows(ids, counts, np.concatenate(starts), 1 << self.bits)

    def _fit_sorted(self, sequences: SequenceSet) -> Rows:
        from .._fast.features import number
        from .._fast.kmers import count_kmers

        ids, counts = self._room(sequences)
        slots, entries, size, at, starts = np.zeros(64, np.uint64), np.full(64, -1), 0, 0, [np.zeros(1, np.int64)]
        for keys, cuts in self._blocks(sequences):
            features, values, cuts = count_kmers(keys, cuts)
            end = at + len(features)
            slots, entries, size = number(slots, entries, size, features, ids[at:end])
            counts[at:end] = values
            starts.append(cuts[1:] + at)
            at = end
        used = np.flatnonzero(entries >= 0)
        used = used[np.argsort(slots[used])]
        self.dictionary = slots[used]
        rank = np.empty(size, np.int32)
        rank[entries[used]] = np.arange(size, dtype=np.int32)
        entries[used] = np.arange(size)
        self._slots, self._entries = slots, entries
        rows = _rows(ids, counts, np.concatenate(starts), size)
        np.take(rank, rows.ids, out=rows.ids)  # rows were sorted by key, so they are sorted by rank
        return rows

    def _map_sorted(self, sequences: SequenceSet) -> Rows:
        from .._fast.features import known_only, power_sums
        from .._fast.kmers import count_kmers

        size = 0 if self.dictionary is None else len(self.dictionary)
        ids, counts = self._room(sequences)
        at, starts, powers = 0, [np.zeros(1, np.int64)], [np.zeros((3, 0))]
        for keys, cuts in self._blocks(sequences):
            features, values, cuts = count_kmers(keys, cuts)
            powers.append(power_sums(values, cuts))
            cuts = known_only(self._slots, self._entries, features, values, cuts, ids[at:], counts[at:])
            starts.append(cuts[1:] + at)
            at = int(starts[-1][-1])
        return _rows(ids, counts, np.concatenate(starts), size, np.concatenate(powers, axis=1))

    def places(self, sequences: SequenceSet) -> Iterable[Found] | None:
        if self.shape is None:
            return None
        codes, offsets, span = sequences.flat_codes(), sequences.offsets, self.shape.span
        unknown = np.concatenate([[0], np.cumsum(codes >= sequences.alphabet.size)])
        starts = np.flatnonzero(np.arange(len(codes)) + span <= np.repeat(offsets[1:], np.diff(offsets)))
        starts = starts[unknown[starts + span] == unknown[starts]]
        keys = self.keys(codes, offsets)[0].reshape(len(starts), self.growth)
        return [(starts, self.shape.columns, self._numbers(keys))]

    @property
    def counts_runs(self) -> bool:
        return super().counts_runs and self.growth == 1  # and not its neighbours

    def _numbers(self, keys: np.ndarray) -> np.ndarray:
        if self.dictionary is None:
            return keys.astype(np.int64)
        if not len(self.dictionary):
            return np.full(keys.shape, -1)
        found = np.minimum(np.searchsorted(self.dictionary, keys), len(self.dictionary) - 1)
        return np.where(self.dictionary[found] == keys, found, -1)

    def letters(self, features: np.ndarray, known: SequenceSet) -> np.ndarray:
        assert self.shape is not None
        n_letters = self.shape.columns.shape[1]
        bits = self.bits // n_letters
        shifts = np.arange(n_letters - 1, -1, -1, dtype=np.uint64) * np.uint64(bits)
        return ((self.keys_of(features)[:, None] >> shifts) & np.uint64((1 << bits) - 1)).astype(np.uint8)


class LongVocabulary(Vocabulary):
    """k-mers of any length, numbered by doubling: a long k-mer is a pair of shorter ones that have numbers."""

    def __init__(self, k: int, bits: int, size: int) -> None:
        self.k, self.size, self.bits, self.shape = k, size, bits, Shape.run(k)
        self.dictionaries: list[np.ndarray] = []

    def _letters(self, sequences: SequenceSet) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Return codes, offsets, k and bits."""
        codes, bits = sequences.flat_codes(), self.bits
        if self.size == 256:  # all codes are letters, so none is left to mark the unknown: letter 255 makes way
            codes, bits = np.where(codes == 255, np.uint16(256), codes), bits + 1
        return codes, sequences.offsets, self.k, bits

    def fit(self, sequences: SequenceSet) -> Rows:
        from .._fast.kmers import fit_long

        keys, starts, self.dictionaries = fit_long(*self._letters(sequences), clock.check)
        return self._count(keys, starts)

    def map(self, sequences: SequenceSet) -> Rows:
        from .._fast.kmers import map_long

        keys, starts = map_long(*self._letters(sequences), self.dictionaries, clock.check)
        rows = self._count(keys, starts)
        # features without a number count, too, for k(x, x)
        return replace(rows, powers=LongVocabulary(self.k, self.bits, self.size).fit(sequences).powers)

    def _count(self, keys: np.ndarray, starts: np.ndarray) -> Rows:
        from .._fast.features import count_table

        size = len(self.dictionaries[-1])
        ids, counts = np.empty(len(keys), np.int32), np.empty(len(keys))
        starts = count_table(keys, starts, np.zeros(max(1, size), np.int64), ids, counts, 0)
        return _rows(ids, counts, starts, size)

    def places(self, sequences: SequenceSet) -> Iterable[Found]:
        assert self.shape is not None
        starts, ids = self._starts(sequences)
        return [(starts, self.shape.columns, ids[:, None])]

    def _starts(self, sequences: SequenceSet) -> tuple[np.ndarray, np.ndarray]:
        from .._fast.kmers import long_ids

        ids = long_ids(*self._letters(sequences), self.dictionaries)[0]
        starts = np.flatnonzero(ids >= 0)
        return starts, ids[starts]

    def letters(self, features: np.ndarray, known: SequenceSet) -> np.ndarray:
        starts, ids = self._starts(known)
        first = np.zeros(len(self.dictionaries[-1]), np.int64)
        first[ids[::-1]] = starts[::-1]
        return known.flat_codes()[first[features][:, None] + np.arange(self.k)]


def _rows(
    ids: np.ndarray, counts: np.ndarray, starts: np.ndarray, n_columns: int, powers: np.ndarray | None = None
) -> Rows:
    """Cut the room that was not needed, and add up powers."""
    from .._fast.features import power_sums

    ids.resize(int(starts[-1]), refcheck=False)  # in place: a copy would double what is held
    counts.resize(int(starts[-1]), refcheck=False)
    return Rows(ids, counts, starts, n_columns, power_sums(counts, starts) if powers is None else powers)
