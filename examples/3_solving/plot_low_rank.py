"""
A kernel through landmarks: how many are enough?
================================================

``LowRank(kernel, rank)`` sees any kernel through a few landmarks that a fit chooses among its samples. Training and
prediction then cost a row of ``rank`` numbers for a sample, however many samples there are. What is lost is stated:
the *trace error*. Here it is compared with what counts, the accuracy on new samples.
"""

# %%
# The data
# --------
# Thirty thousand points of five numbers; the label depends on products and waves, with some noise.
import time

import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, Linear, LowRank, MKLClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(35_000, 5))
signal = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.5 * X[:, 3]
y = signal + 0.3 * rng.normal(size=len(X)) > 0
X, X_new, y, y_new = X[:30_000], X[30_000:], y[:30_000], y[30_000:]

# %%
# One fit for every rank
# ----------------------
# Each is certified for the kernel as stated: ``gap_`` is below ``tol`` whatever the rank. The note says what the rank
# costs in similarity.
ranks, lost, accuracy, seconds = [10, 30, 100, 300], [], [], []
for rank in ranks:
    start = time.process_time()
    model = MKLClassifier(LowRank(RBF(0.3), rank=rank) + Linear(), norm=2).fit(X, y)
    seconds.append(time.process_time() - start)
    lost.append(model.fitted_.terms[0].landmarks.lost)
    accuracy.append(model.score(X_new, y_new))
    print(f"gap {model.gap_:.1e}; {model.notes_[0]}")

# %%
# What was lost, and what was gained
# ----------------------------------
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, values, title in (
    (axes[0], lost, "share of the trace that is lost"),
    (axes[1], accuracy, "accuracy, new samples"),
):
    ax.plot(ranks, values, "o-", color="#2a6f97")
    for rank, value, cpu in zip(ranks, values, seconds, strict=True):
        text = f"{cpu:.1f} s" if values is accuracy else f"{value:.2g}"
        ax.annotate(text, (rank, value), xytext=(4, 6), textcoords="offset points", fontsize="small")
    ax.set_xscale("log")
    ax.set_xticks(ranks, [str(rank) for rank in ranks])
    ax.set_xlabel("rank (landmarks)")
    ax.set_title(title)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Accuracy levels off long before the trace error reaches zero. The landmarks are samples, chosen one after another
# where those before left most to say: they spread over the data, and rare samples are not forgotten.
chosen = X[model.fitted_.terms[0].landmarks.rows]
fig, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
ax.scatter(*X[:3000, :2].T, s=4, color="#c8d0d4", label="samples")
ax.scatter(*chosen[:, :2].T, s=14, color="#b04a2f", label=f"{len(chosen)} landmarks")
ax.set_xlabel("first number")
ax.set_ylabel("second number")
ax.set_title("Landmarks spread further than the samples")
ax.legend(frameon=False)
plt.show()
