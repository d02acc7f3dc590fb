"""Words of kernels that compare them in pairs: every whole word, with what one occurrence adds to a machine."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..gram.feature_map import Group
from ..kernels.pair_rules import PairRule
from ..kernels.pair_tables import summed_table
from ..kernels.pieces import Piece
from ..kernels.vocabulary import KeyVocabulary, Shape
from ..sequences import SequenceSet

#: Bits of words that are numbered by their letters.
MAX_BITS = 25


def has_whole_words(piece: Piece, support: SequenceSet) -> bool:
    """Say whether a piece is explained by whole words: where gapped ones would count for and against each other."""
    bits = piece.core.shortest_word() * support.alphabet.bits
    return bool(getattr(piece.core, "by_whole_words", False)) and bits <= MAX_BITS


def whole_words(piece: Piece, support: SequenceSet, coef: np.ndarray) -> tuple[Group, np.ndarray]:
    """Return all words of the kernel's length as a group of features, and Σ_q coef[q] k(q, u) of every word u."""
    from .._fast.features import spectrum_keys

    rule, alphabet = piece.core.rule(support.alphabet), support.alphabet
    words = piece.core.word_list(support, rule)
    table = summed_table(rule, words, np.arange(len(support)), coef)
    keys = partial(spectrum_keys, k=rule.length, bits=alphabet.bits, size=alphabet.size)
    vocabulary = KeyVocabulary(keys, rule.length * alphabet.bits, shape=Shape.run(rule.length), table=True)
    normal = np.zeros(1 << vocabulary.bits)
    normal[_keys_of_all(rule, alphabet.bits)] = table
    return Group(piece, vocabulary, alphabet, 1.0), normal


def mean_weight(piece: Piece, support: SequenceSet) -> float:
    """Return what a word of the support weighs by its place, on average."""
    weights = piece.core.word_list(support, piece.core.rule(support.alphabet)).weights
    return float(weights.mean()) if len(weights) else 1.0


def _keys_of_all(rule: PairRule, bits: int) -> np.ndarray:
    """Return the key of every word, in the order of their numbers."""
    numbers, keys = np.arange(rule.n_words), np.zeros(rule.n_words, np.int64)
    for i in range(rule.length):
        keys |= (numbers // rule.size**i % rule.size) << (bits * i)
    return keys
