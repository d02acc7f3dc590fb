"""
From peaks to variants
======================

Which letters of a genome matter for a protein to bind, and what does a variant do to it? Here the truth is known: a
motif was planted into a generated genome, and every variant changes it by a known amount.
"""

# %%
# Peaks, and what is none
# -----------------------
# A genome of three chromosomes, with stretches of different composition, repeats and gaps. Negatives are drawn to match
# the peaks in length, in G and C, and in repeats, so that the model cannot win by these.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_genome, matched_regions
from kernelweave.explain import SequenceLogoDisplay, logo, variant_effects
from kernelweave.explain.validation import auroc
from kernelweave.io.bed import cut_out

made = make_genome(2500, 400, length=300_000, width=22, random_state=0)
negatives = matched_regions(made.peaks, made.genome, ratio=2, random_state=0)
print(negatives)

# %%
# A model, tested on a chromosome that it has not seen
# ----------------------------------------------------
chromosome = np.concatenate([made.peaks.names, negatives.regions.names])
X = np.array([*cut_out(made.genome, made.peaks), *cut_out(made.genome, negatives.regions)])
y = np.repeat([1, -1], [len(made.peaks), len(negatives)])
train = chromosome != "chr3"
model = MKLClassifier(WeightedDegree(degree=1), C=0.1).fit(X[train], y[train])
area = auroc(y[~train] == 1, model.decision_function(X[~train]))
print(f"Area under ROC on chr3: {area:.3f}")
SequenceLogoDisplay.from_logo(logo(model))

# %%
# What variants do
# ----------------
# For every variant, all windows that cover it are scored on both strands, with either allele. The effect is the best
# score with the alternative allele less the best one without it.
found = variant_effects(model, made.variants, made.genome)
truth = made.variants["effect"]
longer = np.array([len(a) - len(r) for r, a in zip(found["ref"], found["alt"], strict=True)])

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
kinds = {
    "single letters": (longer == 0, "o", "#2a6f97"),
    "insertions": (longer > 0, "^", "#e07a1f"),
    "deletions": (longer < 0, "s", "#6a4c93"),
}
for name, (chosen, marker, colour) in kinds.items():
    rank = spearmanr(truth[chosen], found["delta"][chosen])[0]
    label = f"{name}: rank correlation {rank:.2f}"
    ax.scatter(truth[chosen], found["delta"][chosen], s=14, marker=marker, color=colour, alpha=0.7, label=label)
ax.axhline(0, color="#9aa5ab", linewidth=0.8)
ax.axvline(0, color="#9aa5ab", linewidth=0.8)
ax.set_xlabel("true effect: change of the best log-odds of the motif")
ax.set_ylabel("change of the decision value")
ax.set_title("The model ranks variants as the truth does")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# Percentiles say which effects are large: random variants of the same kind are the yardstick.
share = np.mean(found["percentile"] < 5)
print(f"{share:.0%} of these variants, all in a motif, lie below 95 % of random ones.")
plt.show()
