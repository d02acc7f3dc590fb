"""Files in and out: sequence files, tables, labels."""

from .fasta import (
    Block,
    Loaded,
    Record,
    iter_fasta,
    pack_fasta,
    read_blocks,
    read_fasta,
    read_files,
    read_labelled_fasta,
    unique_ids,
)
from .tables import header_labels, match_labels, read_sequence_table, read_svmlight, read_table, tidy_labels

__all__ = [
    "Block",
    "Loaded",
    "Record",
    "header_labels",
    "iter_fasta",
    "match_labels",
    "pack_fasta",
    "read_blocks",
    "read_fasta",
    "read_files",
    "read_labelled_fasta",
    "read_sequence_table",
    "read_svmlight",
    "read_table",
    "tidy_labels",
    "unique_ids",
]
