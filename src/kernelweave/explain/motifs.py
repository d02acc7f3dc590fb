"""Motifs: letter frequencies around a word or a position, and the file format that motif tools read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..io.atomic import AtomicFile
from ..sequences import PROTEIN, Alphabet, SequenceSet
from .normals import chosen
from .tables import letter_frame


@dataclass(frozen=True)
class Motif:
    """Letter frequencies: matrix[i, c] is the share of letter c at place i; rows add up to 1."""

    matrix: np.ndarray
    letters: str
    name: str
    #: How many support sequences it was made from.
    n_sites: int

    @property
    def consensus(self) -> str:
        """The most frequent letters."""
        return "".join(self.letters[c] for c in self.matrix.argmax(axis=1))

    def to_frame(self) -> Any:
        """Return the frequencies as the DataFrame that ``logomaker.Logo`` draws."""
        return letter_frame(self.matrix, self.letters)


def motif(
    model: Any,
    kmer: str | None = None,
    position: int | None = None,
    *,
    flank: int = 3,
    sign: int = 1,
    pseudocount: float = 0.0,
    term: Any = None,
    machine: int = 0,
) -> Motif:
    """Return the letter frequencies around a word, a position, or a word at a position, in the support sequences.

    matrix[i, c] ∝ pseudocount + Σ_q abs(coef[q]) · [support q has letter c at place i], over the support sequences of
    one sign: those that speak for the positive class, or against it.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    kmer : str or None
        Take sequences that hold this word: at `position` (up to the shift of the kernel away), or anywhere. Dots match
        any letter.
    position : int or None
        Where the word, or the window, starts.
    flank : int
        Letters to add on either side.
    sign : {1, -1}
        Support sequences with positive or with negative coefficients.
    pseudocount : float
        Added to the sum of every letter.
    term, machine
        As for `kmer_table`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import motif
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> motif(model, "AA", 0, flank=0).consensus
    'AA'
    """
    if kmer is None and position is None:
        raise InputError("A motif needs a word, a position, or both: motif(model, 'GATTACA', 10).")
    if sign not in (1, -1):
        raise InputError(f"sign must be 1 or -1; got {sign!r}.")
    fitted, pieces, coef = chosen(model, term, machine)
    if len({repr(piece.path) for _, piece in pieces}) != 1:
        raise InputError("These terms see several views; choose with term=...: word_views(model) lists them.")
    first = pieces[0][1]
    picked = np.flatnonzero(sign * coef > 0)
    support = first.core.sequences(fitted.support.through(first.path)).rows(picked)
    reach = max(getattr(piece.core, "shift", 0) for _, piece in pieces)
    word = None if kmer is None else _codes(support.alphabet, kmer)
    rows, starts = _sites(support, word, position, reach)
    counts = _letter_sums(support, rows, starts, 1 if word is None else len(word), flank, np.abs(coef[picked]))
    known = np.flatnonzero(counts.any(axis=1))
    if not len(known):
        side, what = "positive" if sign > 0 else "negative", f"the word {kmer!r}" if kmer else "letters"
        raise InputError(
            f"No support sequence with a {side} coefficient has {what} {'anywhere' if position is None else 'there'}; "
            "kmer_table(model) lists the words that there are."
        )
    counts = counts[known[0] : known[-1] + 1] + pseudocount  # the rest is beyond the ends of all sequences
    counts[~counts.any(axis=1)] = 1.0  # only unknown letters: any is as likely as the others
    name = "_".join(str(part) for part in (kmer, position) if part is not None)
    matrix = counts / counts.sum(axis=1, keepdims=True)
    return Motif(matrix, support.alphabet.letters, name, len(np.unique(rows)))


def _codes(alphabet: Alphabet, kmer: str) -> np.ndarray:
    """Return the codes of a word, −1 for a dot that stands for any letter."""
    letters = np.frombuffer(kmer.encode(alphabet.encoding, "surrogateescape"), np.uint8)
    dots = (letters == ord(".")) & ("." not in alphabet.letters)
    codes = np.where(dots, -1, alphabet.table[letters].astype(np.int64))
    if dots.all() or (codes >= alphabet.size).any():
        raise InputError(f"A word is made of letters of {alphabet!r}, and of dots for any letter; got {kmer!r}.")
    return codes


def _sites(
    support: SequenceSet, word: np.ndarray | None, position: int | None, reach: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return which sequences have the word, and where it starts in them; a sequence may come repeatedly."""
    if word is None:
        return np.arange(len(support)), np.full(len(support), position)
    codes, offsets = support.flat_codes(), support.offsets
    row_of = np.repeat(np.arange(len(support)), support.lengths)
    starts = np.flatnonzero(np.arange(len(codes)) + len(word) <= offsets[1:][row_of])
    for i in np.flatnonzero(word >= 0):
        starts = starts[codes[starts + i] == word[i]]
    rows = row_of[starts]
    starts = starts - offsets[rows]
    if position is not None:
        near = np.abs(starts - position) <= reach
        rows, starts = rows[near], starts[near]
    return rows, starts


def _letter_sums(
    support: SequenceSet, rows: np.ndarray, starts: np.ndarray, width: int, flank: int, weights: np.ndarray
) -> np.ndarray:
    """Σ of the weights of the sequences that have a letter, (places, letters)."""
    size = support.alphabet.size
    out = np.zeros((width + 2 * flank, size))
    codes, offsets, lengths = support.flat_codes(), support.offsets, support.lengths
    for i in range(len(out)):
        place = starts - flank + i
        inside = (place >= 0) & (place < lengths[rows])
        found = codes[offsets[rows[inside]] + place[inside]]
        out[i] = np.bincount(found, weights[rows[inside]], minlength=256)[:size]
    return out


def to_meme(
    path: str | os.PathLike,
    matrices: Sequence[Motif | np.ndarray],
    names: Sequence[str] | None = None,
    background: Any = None,
    *,
    letters: str | None = None,
) -> None:
    """Write motifs in MEME's minimal format, version 4, which motif tools read.

    Parameters
    ----------
    path : path of the file
    matrices : sequence of Motif, or of arrays of shape (places, letters)
        Letter frequencies; rows add up to 1.
    names : sequence of str or None
        By default those of the motifs, or motif_1, motif_2, ...
    background : array of shape (letters,) or None
        Probabilities of the letters without a motif; all equal by default.
    letters : str or None
        For arrays: the letters of the columns, "ACGT" by default.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from kernelweave.explain import to_meme
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "motifs.meme"
    >>> to_meme(path, [np.eye(4)], ["ACGT"])
    >>> path.read_text().splitlines()[7:10]
    ['MOTIF ACGT', 'letter-probability matrix: alength= 4 w= 4', '1.000000 0.000000 0.000000 0.000000']
    """
    found, labels, alphabet = _checked(matrices, names, letters)
    share = _check_background(background, len(alphabet))
    lines = ["MEME version 4", "", f"ALPHABET= {alphabet}", "", "Background letter frequencies"]
    lines += [" ".join(f"{letter} {p:.6f}" for letter, p in zip(alphabet, share, strict=True)), ""]
    for one, label in zip(found, labels, strict=True):
        sites = f" nsites= {one.n_sites}" if one.n_sites else ""
        lines += [f"MOTIF {label}", f"letter-probability matrix: alength= {len(alphabet)} w= {len(one.matrix)}{sites}"]
        lines += [" ".join(f"{p:.6f}" for p in row) for row in one.matrix]
        lines.append("")
    with AtomicFile(path) as out:
        out.file.write("\n".join(lines).encode())


#: What frequencies are multiplied with to be counts, where nobody counted.
_SITES = 1000


def to_jaspar(
    path: str | os.PathLike,
    matrices: Sequence[Motif | np.ndarray],
    names: Sequence[str] | None = None,
    *,
    letters: str | None = None,
) -> None:
    """Write motifs in JASPAR's format: counts of letters, a row for each of them.

    Parameters
    ----------
    path, matrices, names, letters
        As for `to_meme`. Counts are frequencies times the support sequences that they come from, or times 1000.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from kernelweave.explain import to_jaspar
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "motifs.jaspar"
    >>> to_jaspar(path, [np.eye(4)], ["ACGT"])
    >>> path.read_text().splitlines()[:2]
    ['>ACGT', 'A [1000    0    0    0 ]']
    """
    found, labels, alphabet = _checked(matrices, names, letters)
    lines = []
    for one, label in zip(found, labels, strict=True):
        counts = np.rint(one.matrix.T * (one.n_sites or _SITES)).astype(int)
        width = len(str(counts.max()))
        rows = (" ".join(f"{count:{width}d}" for count in row) for row in counts)
        lines += [f">{label}", *(f"{letter} [{row} ]" for letter, row in zip(alphabet, rows, strict=True)), ""]
    with AtomicFile(path) as out:
        out.file.write("\n".join(lines).encode())


def _checked(matrices: Any, names: Any, letters: str | None) -> tuple[list[Motif], list[str], str]:
    """Return motifs, their names and their letters, checked."""
    found = [m if isinstance(m, Motif) else Motif(np.asarray(m, float), letters or "ACGT", "", 0) for m in matrices]
    if not found:
        raise InputError("There are no motifs to write.")
    alphabet = letters or found[0].letters
    labels = [m.name or f"motif_{i}" for i, m in enumerate(found, 1)] if names is None else [str(n) for n in names]
    _check_motifs(found, labels, alphabet)
    return found, labels, alphabet


def _check_motifs(motifs: Sequence[Motif], labels: Sequence[str], letters: str) -> None:
    if sorted(letters) not in (sorted("ACGT"), sorted("ACGU"), sorted(PROTEIN.letters)):
        raise InputError(f"Motif files know DNA, RNA and protein; got the letters {letters[:30]!r}.")
    if len(labels) != len(motifs):
        raise InputError(f"There must be one name per motif; got {len(labels)} for {len(motifs)}.")
    for one, label in zip(motifs, labels, strict=True):
        if not label or any(c.isspace() for c in label):
            raise InputError(f"A motif's name is one word without spaces; got {label!r}.")
        good = (
            one.matrix.ndim == 2 and one.matrix.shape[1] == len(letters) and len(one.matrix) and one.letters == letters
        )
        if not good or not (one.matrix >= 0).all() or not np.allclose(one.matrix.sum(axis=1), 1.0, atol=1e-6):
            raise InputError(
                f"Motif {label!r} must be frequencies of shape (places, {len(letters)}), for the letters {letters!r}, "
                f"with rows that add up to 1; got an array of shape {one.matrix.shape} for {one.letters!r}."
            )


def _check_background(background: Any, n: int) -> np.ndarray:
    share = np.full(n, 1.0 / n) if background is None else np.asarray(background, dtype=np.float64)
    if share.shape != (n,) or not (share >= 0).all() or not np.isclose(share.sum(), 1.0):
        raise InputError(f"background must be {n} probabilities that add up to 1; got {background!r}.")
    return share
