"""Sparse vectors indexed by k-mers: five ways to keep one, and the rule that picks among them."""

from .base import Engine
from .hash_table import HashTable
from .sorted_array import SortedArray
from .suffix_array import SuffixArray
from .table import Table
from .trie import Trie

#: Every engine; each is tested against all others.
ENGINES = (Table, SortedArray, HashTable, Trie, SuffixArray)

#: A table is chosen while it has at most this many numbers, or this many per k-mer that will be added: a larger one
#: costs more to clear and to miss in the cache than a hash table costs to search (benchmarks/string_kernels.py).
SMALL_TABLE = 1 << 20
TABLE_PER_KMER = 16

__all__ = ["ENGINES", "Engine", "HashTable", "SortedArray", "SuffixArray", "Table", "Trie", "choose"]


def choose(k: int, bits: int = 2, n_kmers: int = 0) -> Engine:
    """An empty engine for k-mers of k letters of `bits` bits, of which about n_kmers (with repeats) will be added."""
    if k * bits > 64:
        return SuffixArray(k, bits)
    if Table.can_hold(k, bits) and (1 << (k * bits)) <= max(SMALL_TABLE, TABLE_PER_KMER * n_kmers):
        return Table(k, bits)
    return HashTable(k, bits)
