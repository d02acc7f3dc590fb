"""Open-addressed hash tables: uint64 keys, numbers of entries as values. All arrays have a power of two of slots."""

import numpy as np

from kernelweave._fast import jit

#: Load above which a table doubles, as a fraction 1 / FREE of its slots.
FREE = 2


@jit
def _slot(key, n_slots):
    """Home slot of a key: a full mix of its bits, so that neighbouring k-mers do not pile up."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((key ^ (key >> np.uint64(31))) & np.uint64(n_slots - 1))


@jit
def find(keys, entries, key):
    """Slot of the key, or the free slot where it belongs; entries[slot] is -1 if free."""
    slot = _slot(key, len(keys))
    while entries[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@jit
def enlarged(keys, entries):
    """The same content in twice the slots."""
    new_keys, new_entries = np.empty(2 * len(keys), np.uint64), np.full(2 * len(keys), -1)
    for slot in range(len(keys)):
        if entries[slot] >= 0:
            target = find(new_keys, new_entries, keys[slot])
            new_keys[target], new_entries[target] = keys[slot], entries[slot]
    return new_keys, new_entries


@jit
def hash_add(keys, entries, weights, n_entries, features, values):
    """weights[entry of features[i]] += values[i]; returns keys, entries, weights, n_entries (arrays may have grown)."""
    for i in range(len(features)):
        if FREE * n_entries >= len(keys):
            keys, entries = enlarged(keys, entries)
            more = np.zeros(len(keys))
            more[:n_entries] = weights[:n_entries]
            weights = more
        slot = find(keys, entries, features[i])
        if entries[slot] < 0:
            keys[slot], entries[slot] = features[i], n_entries
            weights[n_entries] = 0.0
            n_entries += 1
        weights[entries[slot]] += values[i]
    return keys, entries, weights, n_entries


@jit
def hash_lookup(keys, entries, weights, features, out):
    """out[i] = weight of features[i], 0 if absent."""
    for i in range(len(features)):
        slot = find(keys, entries, features[i])
        out[i] = weights[entries[slot]] if entries[slot] >= 0 else 0.0


@jit
def table_add(table, features, values):
    """table[features[i]] += values[i]."""
    for i in range(len(features)):
        table[features[i]] += values[i]


@jit
def sorted_lookup(keys, weights, features, out):
    """Keys sorted (n,); out[i] = weight of features[i], 0 if absent. Binary search by sums: nothing to guess."""
    n = len(keys)
    for i in range(len(features)):
        low, size, feature = 0, n, features[i]
        while size > 1:
            half = size // 2
            low += half * (keys[low + half - 1] < feature)
            size -= half
        out[i] = weights[low] if n > 0 and keys[low] == feature else 0.0
