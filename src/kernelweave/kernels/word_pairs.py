"""Kernels that compare all words of one length in pairs, by the number of letters in which they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..parallel import blocks
from ..views import Views
from .explicit import ExplicitKernel
from .pair_matrix import pair_matrix
from .pair_rules import PairRule, WordList
from .pair_tables import summed_table, table_scores
from .profiles import Profile

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet

#: Pairs of words of one sequence that are compared one by one, for every entry of a table of all words: beyond that the
#: table is quicker (measured).
PAIRS_PER_ENTRY = 8
#: And at the least so many, so that values of short sequences are exact.
MIN_LONG = 4 * 10**6
#: What a feature of a word costs against a pair of words (measured).
FEATURE_COST = 6
#: Pairs that are compared between two looks at the clock: a tenth of a second.
PAIR_BURST = 5 * 10**7


class WordPairKernel(ExplicitKernel):
    """k(x, y) = Σ_{u in x, v in y} w_u w_v profile[letters in which u and v differ]; subclasses say `profile`.

    With both strands, v runs over the words of y and of its other strand. Where all words of one length fit into a
    table, values come from the words themselves: a profile is a sum over choices of columns at which words agree, and
    words that agree are found by their letters there. Elsewhere the same sums are taken over listed features.
    """

    def profile(self, size: int) -> Profile:
        """Return what two words count by the letters in which they differ, of an alphabet of that size."""
        raise NotImplementedError

    def rule(self, alphabet: Alphabet) -> PairRule:
        """Return what pairs of words of an alphabet count."""
        complement = alphabet.complement_table if getattr(self, "reverse_complement", False) else None
        return PairRule(self.shortest_word(), alphabet.size, self.profile(alphabet.size), complement)

    def word_list(self, sequences: SequenceSet, rule: PairRule) -> WordList:
        """Return the words of sequences, on one strand."""
        from .._fast.word_pairs import word_numbers

        numbers, places, starts = word_numbers(sequences.flat_codes(), sequences.offsets, rule.length, rule.size)
        n_places = np.repeat(sequences.lengths - rule.length + 1, np.diff(starts))
        weights = self.place_weights(places, n_places)
        return WordList(numbers, starts, np.empty(0, np.float32) if weights is None else weights.astype(np.float32))

    def compute_part(self, X: Views, Y: Views | None, **chosen: int | None) -> np.ndarray:
        at, known = self.pair(X, Y)
        rule = self.rule(known.alphabet)
        if not rule.fits:
            return super().compute_part(X, Y, **chosen)
        B = self.word_list(known, rule).both_strands(rule)
        A = B if Y is None else self.word_list(at, rule).both_strands(rule)
        return pair_matrix(rule, A, B)

    def part_diag(self, X: Views, **chosen: int | None) -> np.ndarray:
        sequences = self.sequences(X)
        rule = self.rule(sequences.alphabet)
        if not rule.fits or (not self.weighs_places and _few_features(rule, sequences)):
            return super().part_diag(X, **chosen)
        return own_values(self, sequences, rule)


def _few_features(rule: PairRule, sequences: SequenceSet) -> bool:
    """Say whether features of sequences are listed sooner than all pairs of their words are compared."""
    n_pairs = (sequences.lengths.astype(np.float64) ** 2).sum() / 2
    return FEATURE_COST * rule.n_choices * sequences.n_letters < n_pairs


def own_values(kernel: WordPairKernel, sequences: SequenceSet, rule: PairRule) -> np.ndarray:
    """Return k(x, x): pair by pair, and of long sequences through a table of all words."""
    out, n_pairs = np.zeros(len(sequences)), sequences.lengths.astype(np.float64) ** 2
    is_long = n_pairs > max(MIN_LONG, PAIRS_PER_ENTRY * rule.n_words)
    for r in np.flatnonzero(is_long):
        words = kernel.word_list(sequences.rows(np.array([r])), rule)
        table = summed_table(rule, words, np.zeros(1, np.int64), np.ones(1))
        out[r] = table_scores(words, table)[0]
    chosen = np.flatnonzero(~is_long)
    mean = max(1.0, n_pairs[chosen].sum() / max(1, len(chosen)))
    for part in blocks(len(chosen), max(1, int(PAIR_BURST / mean))):
        out[chosen[part]] = _by_pairs(kernel, sequences.rows(chosen[part]), rule)
    return out


def _by_pairs(kernel: WordPairKernel, some: SequenceSet, rule: PairRule) -> np.ndarray:
    from .._fast.word_pairs import own_values

    codes, places = some.flat_codes(), np.arange(some.n_letters) - np.repeat(some.offsets[:-1], some.lengths)
    weights = kernel.place_weights(places, np.repeat(some.lengths - rule.length + 1, some.lengths))
    weights = np.ones(len(codes)) if weights is None else weights.astype(np.float64)
    unknown = np.concatenate([[0], np.cumsum(codes >= rule.size)])
    ends = np.minimum(np.arange(len(codes)) + rule.length, len(codes))
    weights[unknown[ends] > unknown[:-1]] = 0.0  # no word with an unknown letter counts
    both = rule.complement is not None
    complement = rule.complement if both else np.zeros(256, np.uint8)
    n_bits = (rule.size - 1).bit_length()
    return own_values(codes, some.offsets, weights, rule.length, n_bits, rule.profile, complement, both)
