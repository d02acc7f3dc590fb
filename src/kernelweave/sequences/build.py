"""From letters to sets: blocks of letters are judged, encoded, and passed on to memory or to a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import DataWarning, InputError
from .alphabet import UNKNOWN, Alphabet, find_alphabet
from .layout import PACKING, Notes, common_length, offsets_of, pack_codes
from .rules import Rules, letter_error, short_error
from .sets import SequenceSet

_NOWHERE = np.empty(0, np.int64)
#: A share of ambiguous letters above this is worth a warning.
AMBIGUOUS_SHARE = 0.05


class MemorySink:
    """Where encoded rows go when they are to stay in memory."""

    def __init__(self) -> None:
        self._data = bytearray()  # grows in place, so that no second copy is made at the end
        self._offsets, self._unknown = [np.zeros(1, np.int64)], [_NOWHERE]
        self.n, self.n_letters = 0, 0

    def append(self, data: np.ndarray, offsets: np.ndarray, unknown: np.ndarray) -> None:
        """Add encoded rows: their bytes, their letter offsets (from 0), the flat positions of unknown letters."""
        self._data += data.data
        self._offsets.append(offsets[1:] + self.n_letters)
        if unknown.size:
            self._unknown.append(unknown + self.n_letters)
        self.n += offsets.size - 1
        self.n_letters += int(offsets[-1])

    def finish(self, alphabet: Alphabet, packed: bool, notes: Notes) -> SequenceSet:
        """Return the set."""
        offsets = np.concatenate(self._offsets)
        length = common_length(offsets)
        buffer = np.frombuffer(self._data, np.uint8)
        unknown = np.concatenate(self._unknown)
        kept = offsets if length is None else None
        return SequenceSet(alphabet, buffer, self.n, length, kept, packed, unknown, notes)

    def abort(self) -> None:
        """Nothing to clean up."""


class SequenceBuilder:
    """Checks and encodes blocks of letters and passes them to a sink; the one place where letters are judged.

    Parameters
    ----------
    alphabet : Alphabet
    rules : Rules
    packed : bool
        Keep two bits a letter.
    sink : MemorySink or FileSink
    """

    def __init__(self, alphabet: Alphabet, rules: Rules, packed: bool, sink: Any) -> None:
        if packed and not alphabet.packable:
            raise InputError(f"Two bits hold four letters; the {alphabet.name} alphabet has {alphabet.size}.")
        self.alphabet, self.rules, self.packed, self.notes = alphabet, rules, packed, Notes()
        self._sink = sink
        self._table = alphabet.masking_table if rules.lower == "mask" else alphabet.table
        self._n_seen = 0
        self._skipped: list[int] = []

    def add(self, text: np.ndarray, offsets: np.ndarray, name: Callable[[int], str]) -> np.ndarray | None:
        """Take a block of sequences.

        Parameters
        ----------
        text : ndarray of uint8
            The bytes of all sequences of the block, one after another.
        offsets : ndarray of int64, shape (n + 1,)
            Where each starts in `text`.
        name : callable
            Gives the name of row i of the block, for error messages.

        Returns
        -------
        kept : ndarray of bool, or None when all rows were kept
        """
        kept = self._check_lengths(offsets, name)
        if kept is not None:
            lengths = np.diff(offsets)
            text = text[np.repeat(kept, lengths)]
            rows = np.flatnonzero(kept)
            offsets, name = offsets_of(lengths[kept]), partial(_renumbered, name, rows)
        has_unknown = self._check_letters(text, offsets, name)
        self._sink.append(*self._encode(text, offsets, has_unknown))
        return kept

    def finish(self) -> SequenceSet:
        """Warn if a large share of the letters is ambiguous, and return the set."""
        if self._n_seen and not self._sink.n:
            raise InputError(
                f"All {self._n_seen} sequences are shorter than {self.rules.min_length} letters; none is left."
            )
        notes = self.notes = replace(self.notes, skipped=tuple(self._skipped))
        if notes.n_ambiguous > AMBIGUOUS_SHARE * notes.n_letters:
            share = 100 * notes.n_ambiguous / notes.n_letters
            warnings.warn(
                f"{notes.n_ambiguous} of {notes.n_letters} letters ({share:.1f} %) are ambiguous "
                f"({self.alphabet.ambiguous}); every k-mer that holds one is skipped.",
                DataWarning,
                stacklevel=3,
            )
        return self._sink.finish(self.alphabet, self.packed, notes)

    def _check_lengths(self, offsets: np.ndarray, name: Callable[[int], str]) -> np.ndarray | None:
        lengths, start = np.diff(offsets), self._n_seen
        self._n_seen += lengths.size
        short = lengths < self.rules.min_length
        if not short.any():
            return None
        rows = np.flatnonzero(short)
        if self.rules.on_short == "error":
            raise short_error(name(int(rows[0])), int(lengths[rows[0]]), self.rules.min_length)
        self.notes = replace(self.notes, n_short=self.notes.n_short + rows.size)
        if self.rules.on_short == "zero":
            return None
        self._skipped.extend((rows + start).tolist())
        return ~short

    def _check_letters(self, text: np.ndarray, offsets: np.ndarray, name: Callable[[int], str]) -> bool:
        """Count and judge the letters; returns whether any has no code."""
        alphabet, notes = self.alphabet, self.notes
        if alphabet.size == 256:
            self.notes = replace(notes, n_letters=notes.n_letters + text.size)
            return False
        from .._fast.packing import histogram

        counts = histogram(text)
        bad = ~alphabet.allowed_bytes
        if self.rules.ambiguous == "error":
            bad = bad | alphabet.ambiguous_bytes
        if counts[bad].any():
            raise letter_error(alphabet, counts, bad, text, offsets, name)
        lower = counts[97:123].sum() if alphabet.folds_case else 0
        aliased = [ord(c) for letter in alphabet.aliases[::2] for c in {letter, letter.lower()}]
        ambiguous = int(counts[alphabet.ambiguous_bytes].sum())
        self.notes = replace(
            notes,
            n_letters=notes.n_letters + text.size,
            n_lower=notes.n_lower + int(lower),
            n_ambiguous=notes.n_ambiguous + ambiguous,
            n_u=notes.n_u + int(counts[aliased].sum()),
        )
        return ambiguous > 0 or (self.rules.lower == "mask" and lower > 0)

    def _encode(self, text: np.ndarray, offsets: np.ndarray, has_unknown: bool) -> tuple:
        if self.alphabet.size == 256:
            return text, offsets, _NOWHERE
        if self.packed and not has_unknown:
            return pack_codes(text, self._table, offsets), offsets, _NOWHERE
        from .._fast.packing import translate

        codes = np.empty(text.size, np.uint8)
        translate(text, self._table, codes)
        if not self.packed:
            return codes, offsets, _NOWHERE
        return pack_codes(codes, PACKING, offsets), offsets, np.flatnonzero(codes == UNKNOWN)


def _renumbered(name: Callable[[int], str], rows: np.ndarray, i: int) -> str:
    return name(int(rows[i]))


def _number(first: int, i: int) -> str:
    return f"Sequence {first + i}"


class SequenceWriter:
    """Write sequences to a packed file as they come, in bounded memory.

    The file appears under its name only when it is whole: leaving the block by an error leaves no file.

    Parameters
    ----------
    path : path
    alphabet : Alphabet or str
        As in `as_sequences`, but not "auto".
    packed : bool or None
        Two bits a letter; None: where the alphabet allows.
    **rules
        As in `as_sequences`: `ambiguous`, `lower`, `on_short`, `min_length`.

    Examples
    --------
    >>> with SequenceWriter("sites.kwseq", "dna") as out:  # doctest: +SKIP
    ...     out.write(["ACGT", "TTTT"])
    >>> SequenceSet.open("sites.kwseq")[1]  # doctest: +SKIP
    'TTTT'
    """

    def __init__(
        self, path: str | os.PathLike, alphabet: Alphabet | str, *, packed: bool | None = None, **rules: Any
    ) -> None:
        from .store import FileSink

        alphabet = find_alphabet(alphabet)
        checked = Rules(**rules)
        if packed and not alphabet.packable:
            raise InputError(f"Two bits hold four letters; the {alphabet.name} alphabet has {alphabet.size}.")
        self._sink = FileSink(path)
        self._builder = SequenceBuilder(alphabet, checked, alphabet.packable if packed is None else packed, self._sink)

    def __len__(self) -> int:
        return self._sink.n

    def write(self, sequences: Sequence[str | bytes]) -> None:
        """Add sequences in any form that `as_sequences` takes."""
        from .convert import text_blocks

        first = self._builder._n_seen
        for text, offsets, start in text_blocks(sequences, self._builder.alphabet):
            self.add(text, offsets, partial(_number, first + start))

    def add(self, text: np.ndarray, offsets: np.ndarray, name: Callable[[int], str]) -> np.ndarray | None:
        """Add a block of bytes cut at offsets; see `SequenceBuilder.add`."""
        return self._builder.add(text, offsets, name)

    def close(self) -> SequenceSet:
        """Complete the file and map it."""
        return self._builder.finish()

    def discard(self) -> None:
        """Give up: remove what was written. Does nothing after `close`."""
        self._sink.abort()

    def __enter__(self) -> SequenceWriter:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()
