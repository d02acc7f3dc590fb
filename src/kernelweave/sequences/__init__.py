"""Sequences: alphabets, packed sets in memory or mapped from a file, and the door that all input comes through."""

from .alphabet import ALPHABETS, BYTES, DNA, PROTEIN, RNA, TEXT, UNKNOWN, Alphabet, guess_alphabet
from .build import SequenceBuilder, SequenceWriter
from .convert import as_sequences
from .layout import Notes
from .rules import Rules
from .sets import SequenceSet
from .shards import Shards

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
    "Shards",
    "as_sequences",
    "guess_alphabet",
]
