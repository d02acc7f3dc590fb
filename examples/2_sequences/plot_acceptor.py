"""
What a splice site looks like to a machine
==========================================

An intron ends with AG, but most AGs end no intron. A machine with the weighted degree kernel learns to tell real
acceptor sites of the worm *C. elegans* from other AGs, by the 141 letters around them. Then we look inside.
"""

# %%
# The data
# --------
# Set ``KERNELWEAVE_DATA`` to the folder with ``celegans_acceptor/train141.csv.gz`` to see real sites. Without it, the
# sequences are generated: a T-rich stretch before the site, and GT where the intron began.
import csv
import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.explain import SequenceLogoDisplay, importance, kmer_scores, mutation_map, poim

SITE, LENGTH, N = 60, 141, 10_000


def generated(n):
    """Windows with AG at 60 and 61; real ones have TTTTC before it more often than not."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.1, 1, -1)
    letters = rng.choice(list("ACGT"), (n, LENGTH), p=[0.32, 0.18, 0.18, 0.32])
    letters[:, SITE : SITE + 2] = list("AG")
    for row in np.flatnonzero(y > 0):
        kept = rng.random(5) < 0.8
        letters[row, SITE - 5 : SITE][kept] = np.array(list("TTTTC"))[kept]
        start = rng.integers(8, 16)
        letters[row, start : start + 2] = list("GT")
    return ["".join(row) for row in letters.tolist()], y


path = Path(os.environ.get("KERNELWEAVE_DATA", "../../shared/data")) / "celegans_acceptor" / "train141.csv.gz"
if path.exists():
    with gzip.open(path, "rt", newline="") as file:
        rows = [row for _, row in zip(range(N), csv.DictReader(file), strict=False)]
    X, y, kind = [row["sequence"] for row in rows], np.array([int(row["label"]) for row in rows]), "real"
else:
    print("The data folder is not at hand, so these sequences are generated.")
    (X, y), kind = generated(N), "generated"

model = MKLClassifier(WeightedDegree(degree=20).normalized(), norm="fixed", scaling=None).fit(X, y)
print(f"{len(X):,} {kind} windows, {(y > 0).mean():.1%} of them sites; {len(model.support_):,} support windows")

# %%
# Where the signal is
# -------------------
# Left: how much words of every length matter at every position. Nearly all of it lies just before the AG at 60 and 61;
# the AG itself says nothing, since all windows have it. Right: scores of pairs of letters; blue speaks for a site.
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
found = importance(model)
image = left.imshow(found.values, aspect="auto", origin="lower", cmap="Greys", extent=(-0.5, 140.5, 0.5, 8.5))
left.set_ylabel("letters of the word")
left.set_title("Importance")
fig.colorbar(image, ax=left, label="units of the decision value")
pairs = kmer_scores(model, 2)
values = pairs.values - pairs.values.mean(axis=0)
limit = np.abs(values).max()
image = right.imshow(values, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
right.set_yticks(range(16), pairs.kmers, fontsize=8, family="monospace")
right.set_title("Scores of pairs of letters")
fig.colorbar(image, ax=right, label="units of the decision value")
for ax in (left, right):
    ax.set_xlabel("position (from 0)")

# %%
# The letters around the site
# ---------------------------
# Letters above the line speak for a site, letters below against it.
around = slice(SITE - 25, SITE + 16)
letters = poim(model, 1, "uniform")
display = SequenceLogoDisplay(letters.values.T[around], letters.letters, start=around.start).plot()
display.ax_.set_title("What single letters add")

# %%
# Given what letters are common anyway
# ------------------------------------
# A POIM compares with sequences that are drawn letter by letter, here as often as letters occur in the support windows:
# E[decision | word at its position] − E[decision].
print(poim(model, 4).table(top=10))

# %%
# One site, letter by letter
# --------------------------
# What would become of the decision value if one letter were another? Every mutant is judged.
best = int(model.decision_function(X).argmax())
change = mutation_map(model, X[best])
fig, ax = plt.subplots(figsize=(12, 2.6), layout="constrained")
limit = np.abs(change.values).max()
image = ax.imshow(change.values[around].T, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
ax.set_yticks(range(4), change.letters)
ax.set_xticks(range(41), change.sequence[around])
ax.set_xlabel(f"sequence from position {around.start} on")
ax.set_title(f"Change of the decision value, {change.decision:.2f} as it is")
fig.colorbar(image, ax=ax)
plt.show()
