"""Which sequences are so alike that they must not lie on both sides of a split."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .alphabet import PROTEIN
from .convert import as_sequences
from .sets import SequenceSet

#: Letters of the words that are compared: of proteins, and of DNA, RNA and all others.
PROTEIN_WORD, OTHER_WORD = 4, 12
#: A word of more sequences than this says nothing about descent, and would make the work quadratic.
COMMON = 500
#: Pairs that are counted at a time, about.
BLOCK_PAIRS = 1 << 22


def homology_groups(
    sequences: Any, *, k: int | None = None, similarity: float = 0.3, measure: str = "containment"
) -> np.ndarray:
    """Return a number for every sequence, the same for sequences that are alike, or linked by others that are.

    Two sequences with words A and B of k letters are alike where ``|A ∩ B| / min(|A|, |B|) ≥ similarity`` (containment)
    or ``|A ∩ B| / |A ∪ B| ≥ similarity`` (jaccard). Groups are what is linked by such pairs (single linkage), so no
    two sequences of different groups are alike. For DNA a word and its reverse complement are one. Pairs are found
    through the words that they share, never by comparing all with all; words of more than 500 sequences are left out.

    Parameters
    ----------
    sequences : SequenceSet, or what `as_sequences` takes
    k : int or None
        Letters of a word; None for 4 (proteins) or 12.
    similarity : float
        From 0 to 1.
    measure : {"containment", "jaccard"}

    Returns
    -------
    groups : array of int, shape (n,)
        From 0 on, in the order in which groups first come.

    Examples
    --------
    >>> homology_groups(["ACGTTGCATTGACCAG", "GGACGTTGCATTGACC", "TTTTCCCCGAGAGACA"]).tolist()
    [0, 0, 1]
    """
    found = sequences if isinstance(sequences, SequenceSet) else as_sequences(sequences)
    k = k or (PROTEIN_WORD if found.alphabet == PROTEIN else OTHER_WORD)
    if measure not in ("containment", "jaccard") or not 0 < similarity <= 1:
        raise InputError(
            f"measure is 'containment' or 'jaccard', and similarity above 0 and at most 1; got {measure!r} and "
            f"{similarity!r}."
        )
    if k * found.alphabet.bits > 64:
        raise InputError(f"Words of {k} letters do not fit into 64 bits; take k up to {64 // found.alphabet.bits}.")
    from scipy import sparse

    rows, words = _words(found, k)
    links = [_same_letters(found)]
    if len(words):
        matrix = sparse.csr_array((np.ones(len(rows), np.int32), (rows, words)), shape=(len(found), words.max() + 1))
        sizes, by_word = np.diff(matrix.indptr), matrix.T.tocsr()
        step = max(1, int(BLOCK_PAIRS * len(found) / max(1, (np.diff(by_word.indptr).astype(np.int64) ** 2).sum())))
        for at in range(0, len(found), step):
            links.append(_alike(matrix[at : at + step] @ by_word, sizes, at, similarity, measure))
    pairs = np.concatenate(links)
    graph = sparse.coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(len(found),) * 2)
    _, groups = sparse.csgraph.connected_components(graph, directed=False)
    return np.unique(groups, return_index=True)[1].argsort().argsort()[groups]


def _words(found: SequenceSet, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct words of every sequence, as (row, number of the word); without words that are common."""
    from .._fast.features import canonical_keys, spectrum_keys

    given = {"k": k, "bits": found.alphabet.bits, "size": found.alphabet.size}
    if found.alphabet.complement is not None:
        flip = found.alphabet.complement_table
        keys, starts = canonical_keys(found.flat_codes(), found.offsets, complement=flip, **given)
    else:
        keys, starts = spectrum_keys(found.flat_codes(), found.offsets, **given)
    rows = np.repeat(np.arange(len(found)), np.diff(starts))
    _, numbers = np.unique(keys, return_inverse=True)
    once = np.unique(rows * (numbers.max(initial=0) + 1) + numbers)
    rows, numbers = np.divmod(once, numbers.max(initial=0) + 1)
    rare = np.bincount(numbers)[numbers] <= COMMON if len(numbers) else np.zeros(0, bool)
    return rows[rare], numbers[rare]


def _same_letters(found: SequenceSet) -> np.ndarray:
    """Pairs of sequences with the same letters, which may have no word at all, or only common ones."""
    first: dict[str, int] = {}
    return np.array([(i, first.setdefault(text, i)) for i, text in enumerate(found)], dtype=np.int64).reshape(-1, 2)


def _alike(shared: Any, sizes: np.ndarray, at: int, similarity: float, measure: str) -> np.ndarray:
    """Pairs of rows, the first from `at` on, that share enough words."""
    counts = shared.tocoo()
    left, right = counts.coords[0] + at, counts.coords[1]
    if measure == "containment":
        whole = np.minimum(sizes[left], sizes[right])
    else:
        whole = sizes[left] + sizes[right] - counts.data
    good = counts.data >= similarity * whole - 1e-9
    return np.column_stack([left[good], right[good]])
