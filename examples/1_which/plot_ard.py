"""
Which features matter: one width for each
=========================================

An ``RBF`` kernel with one ``gamma`` treats all features alike, so that features with nothing to say drown those that
have something. ``RBF("learn")`` finds one ``gamma`` per feature, by Newton's method on the objective of the machine.
A feature whose gamma is zero is not looked at.
"""

# %%
# The data
# --------
# Ten features, three of which the target depends on: the first one most, the third one least.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, MKLRegressor
from kernelweave.datasets import make_relevant

X, y = make_relevant(200, n_relevant=3, n_irrelevant=7, random_state=0)
X_test, y_test = make_relevant(1000, n_relevant=3, n_irrelevant=7, random_state=1)

common = MKLRegressor(RBF(), loss="squared").fit(X, y)
own = MKLRegressor(RBF("learn"), loss="squared", random_state=0).fit(X, y)
print(f"R² on new samples with one gamma for all: {common.score(X_test, y_test):.2f}")
print(f"R² on new samples with one gamma for each: {own.score(X_test, y_test):.2f}")

# %%
# What was found
# --------------
# ``widths_.gamma`` are the widths, in units of 1 / (units of the feature)². Multiplied by the variance of its
# feature, a gamma has no unit and can be compared with the others.
importance = own.widths_.gamma * X.var(axis=0)
places = np.arange(X.shape[1])
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
colours = np.where(places < 3, "#2a6f97", "#9aa5ab")
bars = ax.bar(places, importance, color=colours)
ax.bar_label(bars, fmt="%.2g", fontsize="small")
ax.set_xticks(places, [f"x{c}" for c in places])
ax.set_xlabel("feature (the target depends on the first three)")
ax.set_ylabel("gamma × variance of the feature (no unit)")
ax.set_title("Three features matter, and the first one most")
ax.spines[["top", "right"]].set_visible(False)

# %%
# The learned kernel can be typed back, or put into a sum with others, each with a weight of its own:
print(own.kernel_)

# %%
# How sure is it?
# ---------------
# Weights are found by solving a convex problem, with a certificate. Widths are not: the objective may have many
# valleys, and nothing proves that the lowest one has been found. The search therefore begins at several points, and a
# note says where each of them ended. Where the data speak clearly, all roads lead to the same place. Where they do
# not, as with targets that we shuffle so that there is nothing left to find, the roads part.
shuffled = MKLRegressor(RBF("learn"), loss="squared", random_state=0).fit(X, np.random.default_rng(2).permutation(y))

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
cases = {"the target": own, "the target, shuffled": shuffled}
for ax, (title, model) in zip(axes, cases.items(), strict=True):
    for number, (history, marker) in enumerate(zip(model.widths_.histories, "osD", strict=True)):
        colour = plt.colormaps["viridis"](0.4 * number)
        ax.plot(
            history, color=colour, marker=marker, markersize=4, label=f"start {number + 1}: ends at {history[-1]:.4g}"
        )
    ax.set_title(title)
    ax.set_xlabel("Newton step")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("objective (C · loss + ½‖w‖², no unit)")

# %%
# The note is part of the model:
print(shuffled.notes_[-1])
plt.show()
