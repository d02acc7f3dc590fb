"""What words say about shorter and longer ones: scores of all words of some letters, and lists of the words there are.

Levels lie one after the other: word u of k letters, the first letter on top, is entry n_letters + ... +
n_letters^(k - 1) + u.
"""

import numpy as np

from kernelweave._fast import jit

# What a longer word adds to the part of it that it shares with a window: it lies inside, hangs out to the left, to the
# right, or to both sides.
INSIDE, LEFT, RIGHT, BOTH = range(4)


@jit
def _letter_chance(code, chance):
    """Probability of a letter under chance (n_letters,); an unknown letter has none."""
    return chance[code] if code < len(chance) and code < 255 else 0.0


@jit
def overlaps(codes, p, table, chance, shares):
    """What a sequence codes (L,) adds to its own words from p on, per unit of its coefficient: shares (orders, 4).

    shares[o - 1] = table[p, o - 1], and the sums over the words from i of k letters that cover all o letters, or end
    with them, of table[i, k - 1] times the probability of what hangs out, under chance (L, n_letters).
    """
    length, degree = table.shape
    orders = len(shares)
    shares[:] = 0.0
    for o in range(1, min(orders, degree) + 1):
        shares[o - 1, INSIDE] = table[p, o - 1]
    before = 1.0
    for i in range(p, max(-1, p - degree), -1):
        if i < p:
            before *= _letter_chance(codes[i], chance[i])
            if before == 0.0:
                break
        stop = min(length, i + degree)
        beyond = 0.0  # Σ over words from i that end beyond e, of their weights times the probability of what is beyond
        for e in range(stop, p, -1):
            if e < stop:
                beyond = _letter_chance(codes[e], chance[e]) * (table[i, e - i] + beyond)
            if e - p <= orders:
                if i == p:
                    shares[e - p - 1, RIGHT] = beyond
                else:
                    shares[e - p - 1, LEFT] += before * table[i, e - i - 1]
                    shares[e - p - 1, BOTH] += before * beyond


@jit
def move_unknown(codes, p, n_letters, around):
    """Update around (Q, 2): the last unknown letter before p and the first one from p on; p comes down one by one."""
    length = codes.shape[1]
    known = min(n_letters, 255)
    for q in range(len(codes)):
        if p == length - 1:
            around[q, 0], around[q, 1] = length, length
        if codes[q, p] >= known:
            around[q, 1] = p
        if around[q, 0] >= p:
            j = p - 1
            while j >= 0 and codes[q, j] < known:
                j -= 1
            around[q, 0] = j


@jit
def _plain_overlaps(p, before, after, table, chance, plain, shares):
    """`overlaps` of any sequence with `before` known letters before p and `after` from p on; plain (L,) is all zero."""
    for place in (p - before - 1, p + after):
        if 0 <= place < len(plain):
            plain[place] = 255
    overlaps(plain, p, table, chance, shares)
    for place in (p - before - 1, p + after):
        if 0 <= place < len(plain):
            plain[place] = 0


@jit
def add_words(codes, coef, layer, tables, chance, p, even, around, orders, own):
    """Add what every sequence says about its words of up to `orders` letters from p on to own (levels, 4).

    codes (Q, L), coef (Q,), layer (Q,), tables (n_layers, L, degree), chance (L, n_letters), around as `move_unknown`
    has it. Where all letters are equally likely (`even`), it depends on how many known letters there are on either
    side only, and is worked out once.
    """
    n_layers, length, degree = tables.shape
    n_letters = chance.shape[1]
    known = min(n_letters, 255)
    n_kinds = degree * (degree + 1) if even else 0
    common, done = np.empty((n_layers, n_kinds, orders, 4)), np.zeros((n_layers, n_kinds), np.bool_)
    single, plain = np.empty((orders, 4)), np.zeros(length, np.uint8)
    for q in range(len(codes)):
        if codes[q, p] >= known or coef[q] == 0.0:
            continue
        m, shares = layer[q], single
        if even:
            before, after = min(p - around[q, 0] - 1, degree - 1), min(around[q, 1] - p, degree)
            kind = before * (degree + 1) + after
            shares = common[m, kind]
            if not done[m, kind]:
                done[m, kind] = True
                _plain_overlaps(p, before, after, tables[m], chance, plain, shares)
        else:
            overlaps(codes[q], p, tables[m], chance, single)
        u, start, size = np.int64(0), np.int64(0), np.int64(1)
        for o in range(orders):
            letter = codes[q, p + o]
            if letter >= known:
                break
            u = u * n_letters + letter
            for side in range(4):
                own[start + u, side] += coef[q] * shares[o, side]
            size *= n_letters
            start += size


@jit
def join_words(own, n_letters, last_inside, last_right, inside, left, right, out):
    """Sum up what a window gets from all words that overlap it: out (levels,) from own (levels, 4).

    Words inside u = those inside u without its last letter, and without its first one, but not both, and u itself.
    last_inside and last_right are the sums for windows one letter further on; inside, left and right are filled.
    """
    start, below, under = 0, 0, 0  # where the levels of k, k - 1 and k - 2 letters begin
    size = 1
    while start < len(own):
        lower, size = size, size * n_letters
        lowest = lower // n_letters
        for u in range(size):
            s, a, b = own[start + u, INSIDE], own[start + u, LEFT], own[start + u, RIGHT]
            head, tail = below + u // n_letters, below + u % lower
            if start > 0:
                s += inside[head] + last_inside[tail]
                a += left[head]
                b += last_right[tail]
                if below > 0:
                    s -= last_inside[under + (u // n_letters) % lowest]
            inside[start + u], left[start + u], right[start + u] = s, a, b
            out[start + u] = s + a + b + own[start + u, BOTH]
        start, below, under = start + size, start, below


@jit
def add_free_words(words, lengths, weights, chance, own):
    """As `add_words`, for words that count anywhere: words (M, k), lengths and weights (M,), chance (n_letters,)."""
    n_letters = len(chance)
    for m in range(len(words)):
        k = lengths[m]
        start, o = 0, 1
        while start < len(own) and o <= k:
            size = n_letters**o
            for i in range(k - o + 1):
                share, u = weights[m], np.int64(0)
                for j in range(k):
                    if i <= j < i + o:
                        u = u * n_letters + words[m, j]
                    else:
                        share *= chance[words[m, j]]
                kind = INSIDE if k == o else RIGHT if i == 0 else LEFT if i == k - o else BOTH
                own[start + u, kind] += share
            start += size
            o += 1


@jit
def window_chances(chance, out):
    """Probability of all words from a position on: chance (orders, n_letters) of its letters -> out (levels,)."""
    orders, n_letters = chance.shape
    start, below, size = 0, 0, 1
    for o in range(orders):
        size *= n_letters
        for u in range(size):
            out[start + u] = chance[o, u % n_letters] * (1.0 if o == 0 else out[below + u // n_letters])
        start, below = start + size, start


@jit
def sort_suffixes(codes, p, n_letters, order, room):
    """Sequences sorted from p + 1 on (order) become sorted from p on; codes (Q, L), order and room (Q,) int64."""
    starts = np.zeros(n_letters + 2, np.int64)
    for q in range(len(codes)):
        starts[min(np.int64(codes[q, p]), n_letters) + 1] += 1
    for c in range(n_letters + 1):
        starts[c + 1] += starts[c]
    for r in range(len(order)):
        letter = min(np.int64(codes[order[r], p]), n_letters)
        room[starts[letter]] = order[r]
        starts[letter] += 1
    for r in range(len(order)):  # by hand: copying a whole array takes seconds to compile
        order[r] = room[r]


@jit
def list_words(codes, coef, layer, tables, owner, order, p, n_letters, threshold, found, weights):
    """All words from p on with |weight| > threshold -> how many; found (., 3) int64: letters, a row, count of owners.

    `order` sorts the sequences from p on. Stops where found is full.
    """
    n, length = codes.shape
    limit = min(tables.shape[2], length - p)
    known = min(n_letters, 255)
    common, size = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    for r in range(n):
        row = codes[order[r]]
        k = 0
        while k < limit and row[p + k] < known:
            k += 1
        size[r] = k
        if r > 0:
            above, k = codes[order[r - 1]], 0
            while k < min(size[r], size[r - 1]) and row[p + k] == above[p + k]:
                k += 1
            common[r] = k
    n_owners = 0
    for q in range(n):
        n_owners = max(n_owners, owner[q] + 1)
    stamp, seen, m = np.full(n_owners, -1, np.int64), 0, 0
    for k in range(1, limit + 1):
        r = 0
        while r < n:
            if size[r] < k:
                r += 1
                continue
            first, weight, count = r, 0.0, 0
            seen += 1
            while r == first or (r < n and common[r] >= k):
                q = order[r]
                weight += coef[q] * tables[layer[q], p, k - 1]
                if stamp[owner[q]] != seen:
                    stamp[owner[q]] = seen
                    count += 1
                r += 1
            if abs(weight) > threshold:
                if m == len(found):
                    return m
                found[m, 0], found[m, 1], found[m, 2] = k, order[first], count
                weights[m] = weight
                m += 1
    return m
