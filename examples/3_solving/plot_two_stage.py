"""
A kernel before the machine
===========================

One-stage learning weighs the kernels by what the machine makes of them. Two-stage learning asks a simpler question
first: which weighted sum of kernels looks most like the ideal one, under which two samples are alike exactly where
their targets are? That is a small regression on pairs of samples, and then one machine is left to solve.
"""

# %%
# The data
# --------
# Six sensors; the target depends on the first two, each in its own way.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, Linear, MKLRegressor, PreClustering, compare_solvers
from kernelweave.mkl import TwoStage

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (300, 6))
y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(300)
kernel = sum(k.on(c) for c in range(6) for k in (Linear(), RBF(1.0)))

# %%
# Alignment before and after
# --------------------------
# The alignment of a kernel with the targets is the cosine of the angle between it and the ideal kernel, over all
# pairs of samples. Stage one raises it; the fit keeps what it was for every term, for their plain sum, and for
# the learned one.
model = MKLRegressor(kernel, loss="squared", C=10.0, solver="two_stage").fit(X, y)
alignment = model.alignment_
print(f"plain sum {alignment['before']:.3f}, learned {alignment['after']:.3f}, machine solved to gap {model.gap_:.1e}")

blue, orange, grey = "#2a6f97", "#d1603d", "#9aa5ab"
places = np.arange(len(model.term_names_))
fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
axes[0].barh(places, alignment["terms"], color=blue)
axes[0].axvline(alignment["before"], color=grey, linestyle="--", label="plain sum")
axes[0].axvline(alignment["after"], color=orange, label="learned sum")
axes[0].set_xlabel("alignment with the targets")
axes[0].legend(frameon=False)
axes[1].barh(places, model.weights_, color=orange)
axes[1].set_xlabel("learned weight")
axes[0].set_yticks(places, model.term_names_)
axes[0].invert_yaxis()
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Fewer samples
# -------------
# Samples that are near each other, and whose targets differ by less than epsilon, say nearly the same. Pre-clustering
# keeps one of each group, with the weight of all; how near is near is found from the data.
grid = rng.uniform(-2, 2, (2000, 2))
wave = np.sin(2.0 * grid[:, 0]) + 0.5 * grid[:, 1]
epsilons = [0.05, 0.1, 0.2, 0.4, 0.8]
fits = [PreClustering(epsilon).fit(grid, wave) for epsilon in epsilons]

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].plot(epsilons, [100 * fit.compression_rate_ for fit in fits], color=blue, marker="o")
axes[0].set_xlabel("epsilon (in units of the target)")
axes[0].set_ylabel("samples left out (%)")
kept = fits[2]
axes[1].scatter(*grid.T, s=4, color=grey, label="all samples")
axes[1].scatter(*grid[kept.representatives_].T, s=4 * kept.counts_, color=orange, label="kept, by what they stand for")
axes[1].set_title(f"epsilon = {epsilons[2]}: {len(kept.representatives_)} of {len(grid)}")
axes[1].legend(frameon=False, loc="lower right")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Side by side
# ------------
# The same hold-outs for every contender: error, CPU seconds, terms kept, gap, and a paired t-test against the best.
table = compare_solvers(
    X,
    y,
    kernel,
    {
        "one stage": "auto",
        "two stages": "two_stage",
        "joint alignment": TwoStage("joint_alignment"),
        "differences": TwoStage("differences"),
        "compressed": TwoStage(compress=PreClustering(0.5)),
    },
    n_splits=10,
    loss="squared",
    C=10.0,
)
print(table)
plt.show()
