"""
Motifs in DNA, from sequences to a picture
==========================================

Two words hide in random DNA: GATTACA at position 10 and AGTAGTG at position 30, each with letters replaced by chance.
We train a machine that knows neither, read the words off it, and explain a single decision.
"""

# %%
# Sequences
# ---------
# Half of the sequences hold the words. Change ``noise`` (letters of each word that are replaced) and run again.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave.datasets import make_motifs

X, y = make_motifs(1200, noise=2, random_state=0)
train, test = slice(0, 800), slice(800, None)
print(X[0][:44])

# %%
# Train, and judge
# ----------------
# ``WeightedDegree`` compares words of up to ``degree`` letters place by place.
from sklearn.metrics import roc_auc_score

from kernelweave import MKLClassifier, Spectrum, WeightedDegree

placed = MKLClassifier(WeightedDegree(degree=8).normalized(), norm="fixed").fit(X[train], y[train])
anywhere = MKLClassifier(Spectrum(k=5).normalized(), norm="fixed").fit(X[train], y[train])
for name, model in {"words at their places": placed, "words anywhere": anywhere}.items():
    print(f"{name:<22} auROC {roc_auc_score(y[test], model.decision_function(X[test])):.3f}")

# %%
# What did it see?
# ----------------
# The logo has one letter for each position, as high as it matters.
from kernelweave import PositionImportanceDisplay, SequenceLogoDisplay

SequenceLogoDisplay.from_estimator(placed)
plt.show()

# %%
# The map says which word lengths matter where.
PositionImportanceDisplay.from_estimator(placed, orders=range(1, 9))
plt.show()

# %%
# The words themselves
# --------------------
# The table of the strongest words, with their places. Words of GATTACA and AGTAGTG are on top.
from kernelweave.explain import contributions, kmer_table

print(kmer_table(placed, top=8))

# %%
# One decision
# ------------
# What every letter of a sequence adds to its score; and what every single substitution would do to it.
from kernelweave import MutationMapDisplay

best = int(np.argmax(placed.decision_function(X[test])))
why = contributions(placed, [X[test][best]])
strongest = np.argsort(-np.abs(why.positions[0]))[:8]
print(f"score {why.decision[0]:.2f}; the strongest letters stand at {sorted(strongest.tolist())}")
MutationMapDisplay.from_estimator(placed, X[test][best])
plt.show()

# %%
# Keep it
# -------
# ``save(placed, "motifs.kw")`` writes a file of a few kilobytes, ``kernelweave report motifs.kw`` a page about it.
