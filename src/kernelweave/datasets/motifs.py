"""Generated sequences with hidden motifs, to see whether learning finds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError

LETTERS = np.array(list("ACGT"))


def make_motifs(
    n: int = 1100,
    length: int = 50,
    *,
    motifs: Sequence[str] = ("GATTACA", "AGTAGTG"),
    positions: Sequence[int] = (10, 30),
    noise: int = 0,
    positives: float = 1 / 11,
    random_state: int | np.random.Generator | None = None,
) -> tuple[list[str], np.ndarray]:
    """Return random DNA, some of it with motifs at fixed positions.

    All letters are equally likely. In the positive sequences every motif is written at its position, and then `noise`
    of its letters are drawn anew. Sequences come in random order.

    Parameters
    ----------
    n : int
        Number of sequences.
    length : int
        Letters of a sequence.
    motifs : sequence of str
    positions : sequence of int
        Where each motif starts, from 0 on.
    noise : int
        How many letters of every motif are replaced by random ones, which may be the same.
    positives : float
        Share of sequences with motifs; rounded to whole sequences.
    random_state : int, Generator or None

    Returns
    -------
    X : list of str
    y : array of shape (n,)
        1 with motifs, −1 without.

    Examples
    --------
    >>> from kernelweave.datasets import make_motifs
    >>> X, y = make_motifs(11, random_state=0)
    >>> [sequence[10:17] for sequence in X if sequence[30:37] == "AGTAGTG"], int((y == 1).sum())
    (['GATTACA'], 1)
    """
    _check_motifs(n, length, motifs, positions, noise)
    if not 0 <= positives <= 1:
        raise InputError(f"positives is a share from 0 to 1; got {positives!r}.")
    rng = np.random.default_rng(random_state)
    y = np.where(rng.permutation(n) < round(positives * n), 1, -1)
    letters = rng.choice(LETTERS, (n, length))
    for motif, start in zip(motifs, positions, strict=True):
        for row in np.flatnonzero(y > 0):
            word = np.array(list(motif))
            word[rng.choice(len(word), noise, replace=False)] = rng.choice(LETTERS, noise)
            letters[row, start : start + len(word)] = word
    return _texts(letters), y


def make_shifted_motif(
    n: int = 1000,
    length: int = 100,
    *,
    motif: str = "AAA",
    region: tuple[int, int] = (49, 67),
    random_state: int | np.random.Generator | None = None,
) -> tuple[list[str], np.ndarray]:
    """Return random DNA without A, in which a motif stands somewhere in a region, or only its letters do.

    C is twice as likely as G and T. Positive sequences have the motif at a random place of the region; negative ones
    have its letters at random places there, seldom next to each other.

    Parameters
    ----------
    n : int
        Number of sequences; half of them, rounded down, are positive.
    length : int
        Letters of a sequence.
    motif : str
    region : (int, int)
        First and last position that the motif may cover, from 0 on.
    random_state : int, Generator or None

    Returns
    -------
    X : list of str
    y : array of shape (n,)
        1 with the motif, −1 without.

    Examples
    --------
    >>> from kernelweave.datasets import make_shifted_motif
    >>> X, y = make_shifted_motif(100, random_state=0)
    >>> all("AAA" in sequence[49:68] for sequence, label in zip(X, y) if label == 1)
    True
    """
    first, last = region
    if not 0 <= first <= last < length:
        raise InputError(f"region must lie within the {length} letters, from 0 on; got {region!r}.")
    _check_motifs(n, last + 1, [motif], [first], 0)
    rng = np.random.default_rng(random_state)
    y = np.where(rng.permutation(n) < n // 2, 1, -1)
    letters = rng.choice(LETTERS, (n, length), p=[0.0, 0.5, 0.25, 0.25])
    word = np.array(list(motif))
    for row, label in enumerate(y):
        if label > 0:
            places = rng.integers(first, last - len(word) + 2) + np.arange(len(word))
        else:
            places = np.sort(first + rng.choice(last - first + 1, len(word), replace=False))
        letters[row, places] = word
    return _texts(letters), y


def _texts(letters: np.ndarray) -> list[str]:
    return ["".join(row) for row in letters.tolist()]


def _check_motifs(n: int, length: int, motifs: Sequence[str], positions: Sequence[int], noise: int) -> None:
    if not (isinstance(n, (int, np.integer)) and n >= 2):
        raise InputError(f"n must be a whole number ≥ 2; got {n!r}.")
    if len(motifs) != len(positions):
        raise InputError(f"Every motif needs a position; got {len(motifs)} motifs and {len(positions)} positions.")
    for motif, start in zip(motifs, positions, strict=True):
        if not motif or set(motif) - set("ACGT"):
            raise InputError(f"A motif is made of the letters ACGT; got {motif!r}.")
        if not 0 <= start <= length - len(motif):
            raise InputError(f"{motif!r} at {start} does not fit into the letters 0 to {length - 1}.")
        if not 0 <= noise <= len(motif):
            raise InputError(f"noise counts letters of a motif, 0 to {len(motif)} of {motif!r}; got {noise!r}.")
