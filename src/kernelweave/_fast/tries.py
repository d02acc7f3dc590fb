"""A trie of k-mers in arrays. Node 0 is the root; an edge is a hash entry (node << bits | letter) -> child.

Every node carries the sum of all that was added below it, so that one walk gives a k-mer and all its prefixes.
"""

import numpy as np

from kernelweave._fast import jit
from kernelweave._fast.tables import FREE, enlarged, find


@jit
def trie_add(keys, entries, weights, ends, n_nodes, features, values, k, bits):
    """Add values[i] along the path of features[i] (k letters of `bits` bits, the first on top).

    ends (nodes,) uint64 keeps the k-mer of every leaf. Returns keys, entries, weights, ends, n_nodes, maybe grown.
    """
    mask = np.uint64((1 << bits) - 1)
    for i in range(len(features)):
        node = 0
        weights[0] += values[i]
        for depth in range(k):
            if FREE * n_nodes >= len(keys):
                keys, entries = enlarged(keys, entries)
                more, more_ends = np.zeros(len(keys)), np.zeros(len(keys), np.uint64)
                more[:n_nodes], more_ends[:n_nodes] = weights[:n_nodes], ends[:n_nodes]
                weights, ends = more, more_ends
            letter = (features[i] >> np.uint64(bits * (k - 1 - depth))) & mask
            edge = (np.uint64(node) << np.uint64(bits)) | letter
            slot = find(keys, entries, edge)
            if entries[slot] < 0:
                keys[slot], entries[slot] = edge, n_nodes
                n_nodes += 1
            node = entries[slot]
            weights[node] += values[i]
        ends[node] = features[i]
    return keys, entries, weights, ends, n_nodes


@jit
def trie_lookup(keys, entries, weights, features, k, bits, beta, out):
    """out[i] = sum over depths d = 1 .. k of beta[d - 1] * weight of the first d letters of features[i]; beta (k,)."""
    mask = np.uint64((1 << bits) - 1)
    for i in range(len(features)):
        node, total = 0, 0.0
        for depth in range(k):
            letter = (features[i] >> np.uint64(bits * (k - 1 - depth))) & mask
            slot = find(keys, entries, (np.uint64(node) << np.uint64(bits)) | letter)
            if entries[slot] < 0:
                break
            node = entries[slot]
            total += beta[depth] * weights[node]
        out[i] = total


@jit
def trie_leaves(keys, entries, ends, n_nodes, bits):
    """Nodes without children -> (nodes, k-mers)."""
    inner = np.zeros(n_nodes, np.bool_)
    for slot in range(len(keys)):
        if entries[slot] >= 0:
            inner[np.int64(keys[slot] >> np.uint64(bits))] = True
    n = 0
    nodes, features = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.uint64)
    for node in range(1, n_nodes):
        if not inner[node]:
            nodes[n], features[n] = node, ends[node]
            n += 1
    return nodes[:n].copy(), features[:n].copy()
