"""Tables of all words of one length: what each adds to a machine, from the words of its support."""

from __future__ import annotations

import numpy as np

from ..parallel import for_blocks
from .pair_rules import PairRule, WordList

#: Words that one thread looks up before it asks for more.
LOOK_UPS = 1 << 20
#: Rows or columns of a table that are turned at a time, so that they stay in the cache (measured).
TURNED = 32


def summed_table(rule: PairRule, words: WordList, rows: np.ndarray, coef: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return s(u) = Σ_q coef[q] Σ_{v in sequence rows[q]} w_v profile[d(u, v)] for every word u, (size^length,).

    Sums of the coefficients of every word are taken to the eigenvectors of the profile, multiplied by its eigenvalues,
    and taken back: a few passes over the table, however many sequences there are.
    """
    from .._fast.word_pairs import add_words

    table = np.zeros(rule.n_words)
    given = words.starts, words.weights, rows, coef
    add_words(words.numbers, *given, table)
    if rule.complement is not None:
        add_words(rule.flipped(words.numbers), *given, table)
    transform(rule, table, n_jobs)
    return table


def transform(rule: PairRule, table: np.ndarray, n_jobs: int = 1) -> None:
    """Multiply a table of all words, in place, by the matrix profile[d(u, v)].

    The upper letters of words are turned, then the lower ones, which are turned back at once after the eigenvalues have
    been multiplied in, then the upper ones again: the table is read three times. Parts of it are turned in a copy, as
    numbers that lie a power of two apart push each other out of the cache.
    """
    from .._fast.word_pairs import reflect

    view = table.reshape(-1, rule.size ** (rule.length // 2))
    varying = _varying(rule)[: len(view)]

    def turn_upper(part: slice) -> None:
        block = view[:, part].copy()
        reflect(block, rule.size)
        view[:, part] = block

    def scale(part: slice) -> None:
        block = view[part].T.copy()
        reflect(block, rule.size)
        block *= rule.values[varying[: len(block), None] + varying[part]]
        reflect(block, rule.size)
        view[part] = block.T

    for_blocks(turn_upper, view.shape[1], TURNED, n_jobs)
    for_blocks(scale, len(view), TURNED, n_jobs)
    for_blocks(turn_upper, view.shape[1], TURNED, n_jobs)


def _varying(rule: PairRule) -> np.ndarray:
    """Return how many letters of every half of a word are not the first of the alphabet."""
    found = np.zeros(1, np.int64)
    for _ in range(rule.length - rule.length // 2):
        found = (found[:, None] + (np.arange(rule.size) > 0)).ravel()
    return found


def table_scores(words: WordList, table: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return Σ_{u in x} w_u s(u) of every sequence."""
    from .._fast.word_pairs import look_up_words

    out = np.empty(len(words))
    size = max(1, len(words) * LOOK_UPS // max(1, len(words.numbers)))
    for_blocks(lambda part: look_up_words(*words.arrays, table, part.start, out[part]), len(words), size, n_jobs)
    return out
