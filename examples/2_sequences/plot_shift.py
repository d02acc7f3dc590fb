"""
A motif that moves
==================

AAA stands somewhere between positions 49 and 67, never at a fixed place. The other class has three A's in the same
region, seldom next to each other. Counting letters does not help, and a kernel that compares words at the same place
only has to meet AAA at every single place. With shifts, a word counts at places nearby as well.
"""

# %%
# With and without shifts
# -----------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_shifted_motif
from kernelweave.explain import contributions, importance, kmer_scores

n = 1000
X, y = make_shifted_motif(2 * n, random_state=0)
machines = {}
for shift in (0, 15):
    kernel = WeightedDegree(degree=10, shift=shift).normalized()
    machines[shift] = MKLClassifier(kernel, norm="fixed", scaling=None).fit(X[:n], y[:n])
    score = roc_auc_score(y[n:], machines[shift].decision_function(X[n:]))
    print(f"shift {shift:>2}: area under the ROC curve {score:.3f}")

# %%
# What the machine with shifts looks at
# -------------------------------------
# Left: by length and position, what one letter more adds to a word. It takes three letters. Right: the scores of all 64
# words of three letters. AAA speaks for the motif all over the region; words with one or two A's speak against it.
machine = machines[15]
gain, scores = importance(machine, how="differential"), kmer_scores(machine, 3)
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 6), layout="constrained")
image = left.imshow(gain.values, aspect="auto", origin="lower", cmap="Greys", vmin=0.0, extent=(-0.5, 99.5, 0.5, 8.5))
left.set_ylabel("letters of the word")
left.set_title("What one letter more adds")
fig.colorbar(image, ax=left, label="units of the decision value")
values = scores.values - scores.values.mean(axis=0)
limit = np.abs(values).max()
image = right.imshow(values, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
right.set_yticks(range(64), scores.kmers, fontsize=6, family="monospace")
right.set_title("Scores of words of three letters")
fig.colorbar(image, ax=right, label="units of the decision value")
for ax in (left, right):
    ax.set_xlabel("position (from 0)")

# %%
# Why one sequence is taken for positive
# --------------------------------------
# The decision value is a sum over words. Shared by the letters that they cover, it shows where the machine looked.
one = int(machine.decision_function(X[n:]).argmax())
why = contributions(machine, [X[n + one]])
print(X[n + one][45:72], f"decision value {why.decision[0]:.2f}")
print(why.kmers(0, top=5))

fig, ax = plt.subplots(figsize=(12, 3), layout="constrained")
places = np.arange(40, 76)
added = why.positions[0, places]
ax.bar(places, added, color=np.where(added > 0, "#2a6f97", "#d1603d"))
ax.axhline(0.0, color="black", linewidth=0.8)
ax.set_xticks(places, X[n + one][40:76])
ax.set_xlabel("sequence from position 40 on")
ax.set_ylabel("what a letter adds\n(units of the decision value)")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
