"""Sparse vectors indexed by k-mers: five ways to keep one, and the rule that picks among them."""

from ..errors import InputError
from .base import Engine
from .hash_table import HashTable
from .sorted_array import SortedArray
from .suffix_array import SuffixArray
from .table import Table
from .trie import Trie

#: Every engine; each is tested against all others.
ENGINES = (Table, SortedArray, HashTable, Trie, SuffixArray)

#: A table is chosen while it has at most this many numbers, or this many per k-mer that will be added. Measured with
#: benchmarks/string_kernels.py: a table and a hash table cost the same at about 60 numbers per k-mer, where clearing
#: the table eats what its reads save; half of that keeps the memory in bounds.
SMALL_TABLE = 1 << 20
TABLE_PER_KMER = 32

__all__ = ["ENGINES", "Engine", "HashTable", "SortedArray", "SuffixArray", "Table", "Trie", "choose", "engine_kind"]


def choose(k: int, bits: int = 2, n_kmers: int = 0) -> Engine:
    """An empty engine for k-mers of k letters of `bits` bits, of which about n_kmers (with repeats) will be added."""
    if k * bits > 64:
        return SuffixArray(k, bits)
    if Table.can_hold(k, bits) and (1 << (k * bits)) <= max(SMALL_TABLE, TABLE_PER_KMER * n_kmers):
        return Table(k, bits)
    return HashTable(k, bits)


def engine_kind(name: object) -> type[Engine]:
    """Return the engine of that name."""
    for kind in ENGINES:
        if kind.name == name:
            return kind
    raise InputError(f"A store is 'auto' or one of {[kind.name for kind in ENGINES]}; got {name!r}.")
