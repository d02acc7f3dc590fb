"""Tables of all words of one length: what each adds to a machine, from the words of its support."""

from __future__ import annotations

import numpy as np

from ..parallel import for_blocks
from .pair_rules import PairRule, WordList

#: Words that one thread looks up before it asks for more, and numbers of a table that it turns at a time.
LOOK_UPS, TURNED = 1 << 20, 1 << 16
#: Columns of a table that are turned at a time, so that they stay in the cache.
COLUMNS = 32


def summed_table(rule: PairRule, words: WordList, rows: np.ndarray, coef: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return s(u) = Σ_q coef[q] Σ_{v in sequence rows[q]} w_v profile[d(u, v)] for every word u, (size^length,).

    Sums of the coefficients of every word are taken to the eigenvectors of the profile, multiplied by its eigenvalues,
    and taken back: a few passes over the table, however many sequences there are.
    """
    from .._fast.word_pairs import add_words, flip_words

    table = np.zeros(rule.n_words)
    given = words.starts, words.weights, rows, coef
    add_words(words.numbers, *given, table)
    if rule.complement is not None:
        add_words(flip_words(words.numbers, rule.length, rule.size, rule.complement), *given, table)
    transform(rule, table, n_jobs)
    return table


def transform(rule: PairRule, table: np.ndarray, n_jobs: int = 1) -> None:
    """Multiply a table of all words, in place, by the matrix profile[d(u, v)]."""
    from .._fast.word_pairs import reflect_columns, reflect_rows, scale_levels

    view = table.reshape(-1, rule.size ** (rule.length // 2))
    for_rows = max(1, TURNED // view.shape[1])

    def turn(columns: bool) -> None:
        if columns:
            for_blocks(
                lambda part: reflect_columns(view, rule.size, part.start, part.stop), view.shape[1], COLUMNS, n_jobs
            )
        else:
            for_blocks(lambda part: reflect_rows(view, rule.size, part.start, part.stop), len(view), for_rows, n_jobs)

    turn(False)
    turn(True)
    for_blocks(
        lambda part: scale_levels(view, rule.size, rule.values, part.start, part.stop), len(view), for_rows, n_jobs
    )
    turn(True)
    turn(False)


def table_scores(words: WordList, table: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Return Σ_{u in x} w_u s(u) of every sequence."""
    from .._fast.word_pairs import look_up_words

    out = np.empty(len(words))
    size = max(1, len(words) * LOOK_UPS // max(1, len(words.numbers)))
    for_blocks(lambda part: look_up_words(*words.arrays, table, part.start, out[part]), len(words), size, n_jobs)
    return out
