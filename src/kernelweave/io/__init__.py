"""Files in and out: sequence files, tables, labels."""

from .fasta import Loaded, Record, iter_fasta, pack_fasta, read_fasta, read_labelled_fasta, unique_ids
from .labels import header_labels, match_labels, tidy_labels
from .tables import read_sequence_table, read_svmlight, read_table

__all__ = [
    "Loaded",
    "Record",
    "header_labels",
    "iter_fasta",
    "match_labels",
    "pack_fasta",
    "read_fasta",
    "read_labelled_fasta",
    "read_sequence_table",
    "read_svmlight",
    "read_table",
    "tidy_labels",
    "unique_ids",
]
