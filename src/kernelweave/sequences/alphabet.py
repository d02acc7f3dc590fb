"""Alphabets: which bytes are letters, and what number each letter gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InputError, InputTypeError

#: The code of a byte that is not a letter. The byte alphabets use all 256 codes, so ask `code < alphabet.size`.
UNKNOWN = 255


@dataclass(frozen=True, repr=False)
class Alphabet:
    """The letters of a kind of sequence; letter number i has code i.

    Parameters
    ----------
    letters : str
        The letters in code order, each one byte (up to 'ÿ').
    name : str
        What the alphabet is called in messages and files.
    complement : str or None
        The complement of each letter, in the order of `letters`.
    ambiguous : str
        Letters that stand for several (N, IUPAC codes). They are read, but have no code: k-mers that hold one are
        skipped. The first of them is written where a sequence is turned back into text.
    aliases : str
        Pairs of letters, read and meant: "UT" reads U as T.

    Examples
    --------
    >>> Alphabet("ACGT").bits
    2
    >>> DNA.table[ord("G")]
    np.uint8(2)
    """

    letters: str
    name: str = "custom"
    complement: str | None = None
    ambiguous: str = ""
    aliases: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.letters, str):
            raise InputTypeError(
                f"An alphabet's letters are a string such as 'ACGT'; got {type(self.letters).__name__}."
            )
        for field in ("letters", "ambiguous"):
            text = getattr(self, field)
            twice = sorted({c for c in text if text.count(c) > 1}) if len(text) <= 256 else ["more than 256 letters"]
            if twice:
                raise InputError(f"Alphabet {field} must name each letter once; repeated: {', '.join(twice)}.")
        wide = [c for c in self.letters + self.ambiguous + self.aliases if ord(c) > 255]
        if wide:
            raise InputError(
                f"Alphabet letters must be single bytes; got {wide[0]!r}. For Unicode use alphabet='text'."
            )
        if not self.letters or set(self.letters) & set(self.ambiguous):
            raise InputError("An alphabet needs at least one letter, and no letter may be ambiguous as well.")
        if self.complement is not None and sorted(self.complement) != sorted(self.letters):
            raise InputError(
                f"complement must list the letters {self.letters!r} in another order; got {self.complement!r}."
            )

    def __repr__(self) -> str:
        if ALPHABETS.get(self.name) == self:
            return self.name.upper()
        shown = {"name": "custom", "complement": None, "ambiguous": "", "aliases": ""}
        extra = [f", {key}={getattr(self, key)!r}" for key, plain in shown.items() if getattr(self, key) != plain]
        return f"Alphabet({self.letters!r}{''.join(extra)})"

    def __len__(self) -> int:
        return len(self.letters)

    @property
    def size(self) -> int:
        """Number of letters; a code below it is a letter."""
        return len(self.letters)

    @property
    def bits(self) -> int:
        """Bits that hold one letter."""
        return max(1, (len(self.letters) - 1).bit_length())

    @property
    def packable(self) -> bool:
        """Whether two bits hold one letter."""
        return self.bits <= 2

    @property
    def encoding(self) -> str:
        """How Python text becomes bytes: UTF-8 for text; elsewhere one letter is one byte."""
        return "utf-8" if self.name == "text" and self.size == 256 else "latin-1"

    @cached_property
    def folds_case(self) -> bool:
        """Whether lower case means the same letter: the alphabet has upper-case letters only."""
        text = self.letters + self.ambiguous
        return text == text.upper() and text != text.lower()

    @cached_property
    def table(self) -> np.ndarray:
        """(256,) uint8: the code of every byte, lower case folded where it may be; 255 where the byte has none."""
        table = np.full(256, UNKNOWN, np.uint8)
        for code, letter in enumerate(self.letters):
            table[ord(letter)] = code
        for read, meant in zip(self.aliases[::2], self.aliases[1::2], strict=True):
            table[ord(read)] = table[ord(meant)]
        if self.folds_case:
            table[97:123] = table[65:91]
        return _frozen(table)

    @cached_property
    def masking_table(self) -> np.ndarray:
        """As `table`, with lower case read as unknown (soft masking)."""
        table = self.table.copy()
        if self.folds_case:
            table[97:123] = UNKNOWN
        return _frozen(table)

    @cached_property
    def ambiguous_bytes(self) -> np.ndarray:
        """(256,) bool: the bytes that are read as an unknown letter, in either case where case is folded."""
        text = self.ambiguous + (self.ambiguous.lower() if self.folds_case else "")
        marks = np.zeros(256, bool)
        marks[[ord(c) for c in text]] = True
        return _frozen(marks)

    @cached_property
    def allowed_bytes(self) -> np.ndarray:
        """(256,) bool: letters, aliases and ambiguous letters; anything else is an error."""
        allowed = self.ambiguous_bytes.copy()
        for letter in self.letters + self.aliases[::2]:
            allowed[ord(letter)] = True
        if self.folds_case:
            allowed[97:123] = allowed[65:91]
        return _frozen(allowed)

    @cached_property
    def byte_of(self) -> np.ndarray:
        """(256,) uint8: the byte written for every code; unknown codes become the first ambiguous letter or '?'."""
        unknown = ord(self.ambiguous[0]) if self.ambiguous else ord("?")
        out = np.full(256, unknown, np.uint8)
        out[: len(self.letters)] = [ord(c) for c in self.letters]
        return _frozen(out)

    @cached_property
    def complement_table(self) -> np.ndarray:
        """(256,) uint8: the complement of every code; unknown stays unknown."""
        if self.complement is None:
            raise InputError(
                f"The {self.name} alphabet has no complement; use DNA, RNA or Alphabet(..., complement=...)."
            )
        out = np.full(256, UNKNOWN, np.uint8)
        out[: len(self.letters)] = [self.letters.index(c) for c in self.complement]
        return _frozen(out)

    def decode(self, codes: np.ndarray) -> str:
        """Turn an array of codes back into text."""
        return self.byte_of[codes].tobytes().decode(self.encoding, "surrogateescape")

    @staticmethod
    def named(name: str) -> Alphabet:
        """Return the alphabet of a name: dna, rna, protein, bytes or text."""
        try:
            return ALPHABETS[name.lower()]
        except KeyError:
            raise InputError(
                f"There is no alphabet {name!r}; known: {', '.join(ALPHABETS)}. Build your own with Alphabet('ACGT')."
            ) from None


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


ALPHABETS: dict[str, Alphabet] = {}
_ALL_BYTES = "".join(map(chr, range(256)))
DNA = Alphabet("ACGT", "dna", "TGCA", "NRYSWKMBDHV", "UT")
RNA = Alphabet("ACGU", "rna", "UGCA", "NRYSWKMBDHV", "TU")
PROTEIN = Alphabet("ACDEFGHIKLMNPQRSTVWY", "protein", None, "XBZJUO")
BYTES = Alphabet(_ALL_BYTES, "bytes")
TEXT = Alphabet(_ALL_BYTES, "text")
ALPHABETS.update({a.name: a for a in (DNA, RNA, PROTEIN, BYTES, TEXT)})


def guess_alphabet(counts: np.ndarray) -> Alphabet:
    """Guess the alphabet from the counts of every byte value, (256,).

    Nine letters in ten from ACGTUN make DNA (RNA when U appears and T does not), nine in ten from the protein letters
    and mostly upper case make protein, anything else is text. A stray gap or digit does not turn DNA into text: it is
    reported as what it is when the letters are read.
    """
    total = int(counts.sum())
    if total == 0:
        return DNA

    def share(letters: str, both_cases: bool = True) -> float:
        text = letters + (letters.lower() if both_cases else "")
        return float(counts[[ord(c) for c in text]].sum()) / total

    if share("ACGTUN") >= 0.9:
        return RNA if share("U") > 0 and share("T") == 0 else DNA
    if share(PROTEIN.letters + PROTEIN.ambiguous, both_cases=False) >= 0.9:
        return PROTEIN
    return TEXT


def find_alphabet(alphabet: Alphabet | str, counts: np.ndarray | None = None) -> Alphabet:
    """Resolve an alphabet, its name, or "auto" (which needs the byte counts) to an `Alphabet`."""
    if isinstance(alphabet, Alphabet):
        return alphabet
    if not isinstance(alphabet, str):
        raise InputTypeError(f"alphabet must be an Alphabet or a name such as 'dna'; got {type(alphabet).__name__}.")
    if alphabet == "auto" and counts is not None:
        return guess_alphabet(counts)
    return Alphabet.named(alphabet)
