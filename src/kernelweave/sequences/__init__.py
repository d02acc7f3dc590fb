"""Sequences: alphabets, packed sets in memory or mapped from a file, and the door that all input comes through."""

from .alphabet import ALPHABETS, BYTES, DNA, PROTEIN, RNA, TEXT, UNKNOWN, Alphabet, guess_alphabet
from .build import SequenceBuilder, SequenceWriter
from .convert import as_sequences
from .layout import Notes
from .rules import Rules
from .sets import SequenceSet

__all__ = [
    "ALPHABETS",
    "BYTES",
    "DNA",
    "PROTEIN",
    "RNA",
    "TEXT",
    "UNKNOWN",
    "Alphabet",
    "Notes",
    "Rules",
    "SequenceBuilder",
    "SequenceSet",
    "SequenceWriter",
    "as_sequences",
    "guess_alphabet",
]
