"""Products whose normal is kept in one of the papers' structures, by their three verbs: clear, add, lookup."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..engines import ENGINES, Engine, engine_kind
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.sparse_rows import Rows
from ..parallel import blocks, for_blocks
from ..sequences import SequenceSet
from ..views import Views
from .feature_map import Group
from .tables import CHUNK, Words, queries_of

#: Words that are looked up at a time, and positions whose scores are added up before those of others.
BLOCK_WORDS, BLOCK_POSITIONS = 1 << 18, 8


def listed_scores(
    store: str, group: Group, part: Rows, X: Views, rows: np.ndarray, coef: np.ndarray, n_jobs: int = 1
) -> np.ndarray:
    """Return Σ_q coef[q] k(X[rows[q]], x) for every sample x, of one group of features, (n,).

    part : the group's features of X
    """
    kind = chosen(store, group.piece.core, lambda one: _holds(one, group))
    coef, out = coef if part.scale is None else coef * part.scale[rows], np.zeros(len(part))
    look_up, n_words = (_texts if kind.reads_texts else _keys)(kind, group, part, X, rows, coef)

    def add(block: slice) -> None:
        out[block] = look_up(block)

    add(slice(0, 0))  # what waits for the first question is done before threads ask
    for_blocks(add, len(part), max(1, BLOCK_WORDS * len(part) // max(1, n_words)), n_jobs)
    return part.weight * (out if part.scale is None else out * part.scale)


def chosen(store: str, kernel: Kernel, holds: Callable[[type[Engine]], bool]) -> type[Engine]:
    """Return the engine of that name, or say which ones can keep the words of the kernel where it cannot."""
    kind = engine_kind(store)
    if not holds(kind):
        names = ["auto", *(one.name for one in ENGINES if holds(one))]
        raise InputError(
            f"store={store!r} cannot keep the words of {kernel!r} on these sequences: {kind.limit}. "
            f"Use store={' or '.join(map(repr, names))}."
        )
    return kind


def _holds(kind: type[Engine], group: Group) -> bool:
    """Say whether an engine can keep the features of a group."""
    if kind.reads_texts:
        twice = Rows(np.zeros(1, np.int32), np.full(1, 2.0), np.arange(2), 1, np.array([[1.0], [2.0], [4.0]]))
        return group.vocabulary.word is not None and group.piece.core.finish(twice).counts[0] == 2.0
    return group.vocabulary.key_bits is not None and kind.can_hold(*_shape(group))


def _shape(group: Group) -> tuple[int, int]:
    """Return how many letters a key has, and their bits."""
    return -(-(group.vocabulary.key_bits or 0) // group.alphabet.bits), group.alphabet.bits


#: From rows to their scores; and how many words all rows have.
Lookup = tuple[Callable[[slice], np.ndarray], int]


def _keys(kind: type[Engine], group: Group, part: Rows, X: Views, rows: np.ndarray, coef: np.ndarray) -> Lookup:
    from .._fast.kmers import sum_rows

    keys_of, some, engine = group.vocabulary.keys_of, part.take(rows), kind(*_shape(group))
    engine.add(keys_of(some.ids), np.repeat(coef, np.diff(some.starts)) * some.counts)

    def look_up(block: slice) -> np.ndarray:
        starts, out = part.starts[block.start : block.stop + 1], np.zeros(block.stop - block.start)
        here = slice(starts[0], starts[-1])
        sum_rows(engine.lookup(keys_of(part.ids[here])) * part.counts[here], starts - starts[0], out)
        return out

    return look_up, len(part.ids)


def _texts(kind: type[Engine], group: Group, part: Rows, X: Views, rows: np.ndarray, coef: np.ndarray) -> Lookup:
    sequences, engine = group.sequences(X), kind(group.vocabulary.word or 0, group.alphabet.bits)
    engine.add_sequences(*_letters(sequences.rows(rows)), coef)
    return lambda block: engine.lookup_sequences(*_letters(sequences.rows(block))), sequences.n_letters


def _letters(sequences: SequenceSet) -> tuple[np.ndarray, np.ndarray]:
    """Return letters, -1 where unknown, and offsets."""
    letters = sequences.flat_codes().astype(np.int64)
    letters[letters >= sequences.alphabet.size] = -1
    return letters, sequences.offsets


# -- words at their positions ----------------------------------------------------------------------------------------


def placed_scores(store: str, kernel: Kernel, words: Words, queries: SequenceSet, n_jobs: int = 1) -> np.ndarray:
    """Return Σ_q coef[q] k(support q, x) of a weighted degree kernel for every query x, (n,).

    Every position has an engine of its own. One that finds prefixes, as a trie does, holds the longest words alone; the
    others hold the words of all lengths, so that there are as many look-ups.
    """
    out = np.zeros(len(queries))
    for part in blocks(len(queries), CHUNK):
        asked = np.ascontiguousarray(queries_of(queries, part, exact=False).T)
        out[part] = _placed(store, kernel, words, asked, n_jobs)
    return out


def _placed(store: str, kernel: Kernel, words: Words, asked: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the scores of letters (length, n), (n,)."""
    (length, degree), size = words.table.shape, words.n_letters
    unknown = (asked >= size).any() or (words.letters >= size).any()
    bits = (size + 1 if unknown else max(1, size - 1)).bit_length()
    kind = chosen(store, kernel, lambda one: _holds_prefixes(one, degree, bits))
    # letters that are unknown on one side differ from those on the other: they match nothing
    known, asked = (np.where(one < size, one, np.int64(size + i)) for i, one in enumerate((words.letters, asked)))
    sums = np.zeros((-(-length // BLOCK_POSITIONS), asked.shape[1]))  # so that results do not depend on threads

    def add(block: slice) -> None:
        for i in range(block.start, block.stop):
            if words.table[i].any():
                here = slice(i, min(i + degree, length))
                beta = words.table[i, : here.stop - i]
                found = _prefix_sums(kind, known[here], words.coef, asked[here], beta, bits)
                sums[block.start // BLOCK_POSITIONS] += found

    for_blocks(add, length, BLOCK_POSITIONS, n_jobs)
    return sums.sum(axis=0)


def _holds_prefixes(kind: type[Engine], k: int, bits: int) -> bool:
    return not kind.reads_texts and kind.can_hold(k if kind.finds_prefixes else k + 1, bits)


def _prefix_sums(
    kind: type[Engine], known: np.ndarray, coef: np.ndarray, asked: np.ndarray, beta: np.ndarray, bits: int
) -> np.ndarray:
    """Return Σ_d beta[d - 1] Σ_q coef[q] over those q whose first d letters are x's; letters are (k, n)."""
    k, words, queries = len(known), _numbers(known, bits), _numbers(asked, bits)
    if kind.finds_prefixes:
        trie = kind(k, bits)
        trie.add(words, coef)
        return trie.lookup_prefixes(queries, beta)
    engine = kind(k + 1, bits)
    engine.add(_prefixes(words, k, bits).ravel(), np.tile(coef, k))
    found: np.ndarray = beta @ engine.lookup(_prefixes(queries, k, bits).ravel()).reshape(k, -1)
    return found


def _numbers(letters: np.ndarray, bits: int) -> np.ndarray:
    """Return the words that letters (k, n) spell, (n,)."""
    out = np.zeros(letters.shape[1], np.uint64)
    for row in letters:
        out = (out << np.uint64(bits)) | row.astype(np.uint64)
    return out


def _prefixes(words: np.ndarray, k: int, bits: int) -> np.ndarray:
    """Return the first 1, ..., k letters of every word, (k, n), each behind a 1 that tells its length."""
    lengths, width = np.arange(1, k + 1, dtype=np.uint64)[:, None], np.uint64(bits)
    return (words >> (np.uint64(k) - lengths) * width) | (np.uint64(1) << lengths * width)
