"""
Finding motifs that noise has worn away
=======================================

Two motifs hide in random DNA, GATTACA at position 10 and AGTAGTG at position 30. From one data set to the next, more of
their seven letters are replaced by random ones. A machine with the weighted degree kernel learns to tell these
sequences from others; then we ask it what it looks at.
"""

# %%
# Machines
# --------
# One machine for every level of noise. Its words have up to 20 letters, far too many to look at one by one.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_motifs
from kernelweave.explain import KernelWeightsDisplay, SequenceLogoDisplay, importance, kmer_scores, kmer_table

levels = (0, 2, 4, 5)
machines = {}
for noise in levels:
    X, y = make_motifs(4000, noise=noise, random_state=0)
    kernel = WeightedDegree(degree=20).normalized()
    machines[noise] = MKLClassifier(kernel, C=2.0, norm="fixed", scaling=None).fit(X[:1000], y[:1000])
    score = roc_auc_score(y[1000:], machines[noise].decision_function(X[1000:]))
    print(f"{noise} of 7 letters random: area under the ROC curve {score:.3f}")

# %%
# The largest single weights
# --------------------------
# The heaviest words are pieces of the motifs, each at its place.
print(kmer_table(machines[2], top=8))

# %%
# Which lengths matter where
# --------------------------
# Every weight is shared with the words that it overlaps. What a word of some length says beyond the two words that are
# one letter shorter shows the length that matters: whole motifs without noise, shorter and shorter pieces of them with
# it. With five letters of seven random, chance words all over the sequence weigh nearly as much.
fig, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained", sharey=True)
for ax, noise in zip(axes, levels, strict=True):
    gain = importance(machines[noise], how="differential")
    ax.imshow(gain.values, aspect="auto", origin="lower", cmap="Greys", vmin=0.0, extent=(-0.5, 49.5, 0.5, 8.5))
    ax.set_title(f"{noise} of 7 letters random", fontsize=10)
    ax.set_xlabel("position (from 0)")
axes[0].set_ylabel("letters of the word")
fig.suptitle("What one letter more adds, darker where it is more")

# %%
# Single letters
# --------------
# The scores of order 1, as a map: blue letters speak for the motifs, red ones against them. The best letter of every
# position spells both motifs, even where five of seven letters are noise.
fig, axes = plt.subplots(4, 1, figsize=(9, 6), layout="constrained", sharex=True)
for ax, noise in zip(axes, levels, strict=True):
    scores = kmer_scores(machines[noise], 1)
    values = scores.values - scores.values.mean(axis=0)
    limit = np.abs(values).max()
    ax.imshow(values, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
    ax.set_yticks(range(4), scores.letters)
    ax.set_title(f"{noise} of 7 letters random", fontsize=10)
    best = "".join(scores.letters[c] for c in values.argmax(axis=0))
    print(f"{noise} of 7 letters random: {best[10:17]} {best[30:37]}")
axes[-1].set_xlabel("position (from 0)")

# %%
# The same as a logo, letters below the line speak against the motifs.
display = SequenceLogoDisplay.from_estimator(machines[4])
display.ax_.set_title("4 of 7 letters random")

# %%
# Learned weights instead
# -----------------------
# Multiple kernel learning gives every position and length a weight of its own: 329 terms. With ``norm=1`` few are left,
# because a few words suffice to tell the classes apart; they show where the motifs are, but not all of them.
fig, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained", sharey=True)
for ax, noise in zip(axes, (0, 2, 4), strict=True):
    X, y = make_motifs(200, noise=noise, positives=0.4, random_state=0)
    parts = WeightedDegree(degree=7).split("position", "degree")
    learned = MKLClassifier(parts, C=2.0, tol=0.02, memory="100MB").fit(X, y)
    KernelWeightsDisplay.from_estimator(learned, ax=ax)
    ax.set_title(f"{noise} of 7 letters random: {np.sum(learned.weights_ > 1e-3)} terms", fontsize=10)
plt.show()
