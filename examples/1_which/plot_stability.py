"""
Which weights can be relied on?
===============================

Learned weights are sparse and noisy: with other samples from the same source, other terms might have
been chosen. Two words are hidden in DNA, GATTACA from position 10 on and AGTAGTG from position 30 on,
and half of their letters are then replaced at random. We give every position a term of its own, and ask
which of the weights would come out again.
"""

# %%
# The data
# --------
# Half of the sequences hold both words, of which every letter is replaced at random with probability ½.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import KernelWeightsDisplay, MKLClassifier, SequenceLogoDisplay, StabilityDisplay, WeightedDegree
from kernelweave.explain import stability

rng = np.random.default_rng(0)
n, length, noise = 400, 50, 0.5
letters = rng.choice(list("ACGT"), (n, length))
y = np.arange(n) % 2
for word, start in (("GATTACA", 10), ("AGTAGTG", 30)):
    for position, letter in enumerate(word, start):
        letters[(y == 1) & (rng.random(n) >= noise), position] = letter
X = ["".join(row) for row in letters]

SequenceLogoDisplay.from_sequences([x for x, label in zip(X, y, strict=True) if label], alphabet="dna")
plt.title("What is left of the words, in the sequences that hold them", fontsize="medium")

# %%
# One fit
# -------
# The words are there, and so are a dozen other positions.
model = MKLClassifier(WeightedDegree(degree=3).split("position")).fit(X, y)
KernelWeightsDisplay.from_estimator(model)

# %%
# Many fits
# ---------
# Bootstrap samples tell how much the weights vary. Whether a term means anything shows on the samples that a
# refit has not seen, and what chance brings shows in refits with permuted labels. In orange are the terms that
# gain significantly more than chance, corrected for the number of terms.
found = stability(model, X, y, n_bootstrap=30, n_permutations=30, random_state=0)
StabilityDisplay.from_stability(found)
print(found.to_text(top=12))

# %%
# A word of three letters that starts at position 8 reaches into GATTACA, so positions shortly before the words may
# be right as well. How many of the findings are?
inside = {p for start in (10, 30) for p in range(start - 2, start + 7)}
hits = np.flatnonzero(found.significant)
print(f"significant positions: {hits.tolist()}; {sum(p in inside for p in hits)} of {len(hits)} touch a hidden word")

# %%
# What a term gains, and what chance gains
# ----------------------------------------
# The gain of a term is half of how far it sets the classes apart, on samples left out. The grey band holds all
# gains in refits with permuted labels.
fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
low, high = found.permuted_gains.min(), found.permuted_gains.max()
ax.axhspan(low, high, color="0.85", label="by chance: all terms of all permuted refits")
colours = np.where(found.significant, "#D55E00", "#0072B2")
ax.vlines(np.arange(length), 0, found.gain, color=colours)
ax.scatter(
    np.arange(length), found.gain, color=colours, s=16, label="mean of the bootstrap refits (orange: significant)"
)
ax.set_xlabel("position of the first letter (from 0)")
ax.set_ylabel("gain on samples left out\n(units of the decision value)")
ax.legend(fontsize="small", loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
