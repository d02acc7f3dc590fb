"""The rules for odd letters and short sequences, and the errors that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .alphabet import DNA, PROTEIN, RNA, Alphabet

_PROTEIN_HINT = "this looks like protein. Use alphabet='protein'."


@dataclass(frozen=True)
class Rules:
    """What to do with letters and sequences that are not plain.

    Parameters
    ----------
    ambiguous : {"skip", "error"}
        N and IUPAC letters: keep them as unknown, so that k-mers with them are skipped, or refuse them.
    lower : {"upper", "mask"}
        Lower case: the same as upper case, or unknown (soft masking).
    on_short : {"error", "skip", "zero"}
        Sequences of fewer than `min_length` letters: refuse them, leave them out, or keep them without features.
    min_length : int
        Letters a sequence needs; 1 refuses only empty sequences.
    """

    ambiguous: str = "skip"
    lower: str = "upper"
    on_short: str = "error"
    min_length: int = 1

    def __post_init__(self) -> None:
        choices = {"ambiguous": ("skip", "error"), "lower": ("upper", "mask"), "on_short": ("error", "skip", "zero")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")


def short_error(name: str, length: int, min_length: int) -> InputError:
    """The error for a sequence that is empty or too short."""
    what = "is empty" if length == 0 else f"has {length} letters, {min_length} are needed"
    return InputError(f"{name} {what}. Remove it, or use on_short='skip' (leave it out) or 'zero' (no features).")


def letter_error(
    alphabet: Alphabet,
    counts: np.ndarray,
    bad: np.ndarray,
    text: np.ndarray,
    offsets: np.ndarray,
    name: Callable[[int], str],
) -> InputError:
    """The error for the first letter that may not be there: its record, its position (from 1) and a remedy."""
    at = int(np.argmax(bad[text]))
    row = int(np.searchsorted(offsets, at, side="right")) - 1
    letter, where = chr(text[at]), f"{name(row)}, position {at - int(offsets[row]) + 1}"
    seen = {chr(b).upper() for b in np.flatnonzero((counts > 0) & bad)}
    if alphabet in (DNA, RNA) and seen <= set(PROTEIN.letters + PROTEIN.ambiguous) and seen & set("EFILPQ"):
        return InputError(f"{where}: {letter!r} is not a {alphabet.name.upper()} letter: {_PROTEIN_HINT}")
    if alphabet.ambiguous_bytes[ord(letter)]:
        remedy = "Remove the sequence or use ambiguous='skip' to skip the k-mers that hold it."
    elif letter in "-.":
        remedy = "Gaps mean nothing to a kernel: remove them from the alignment first."
    elif letter == "*":
        remedy = "Cut the sequence before the stop, or build an alphabet with '*' in it."
    elif letter.isspace() or not letter.isprintable():
        remedy = "Remove it; is this the right column or file?"
    else:
        remedy = "Remove it, or choose another alphabet (dna, rna, protein, bytes, text or Alphabet('...'))."
    return InputError(f"{where}: {letter!r} is not a letter of the {alphabet.name} alphabet. {remedy}")


def lengths_error(lengths: np.ndarray) -> InputError:
    """The error for lengths that vary where one is needed: it shows the five most common."""
    common = Counter(lengths.tolist())
    shown = ", ".join(f"{length} ({count}x)" for length, count in common.most_common(5))
    return InputError(
        f"Sequences must be equally long here; got {len(common)} lengths: {shown}{', ...' if len(common) > 5 else ''}. "
        "Cut them to one window, or use a kernel that takes any length, such as Spectrum."
    )
