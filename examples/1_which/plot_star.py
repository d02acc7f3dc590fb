"""
The scale of a problem: two stars
=================================

Two classes lie on the outlines of stars, one inside the other. As long as the outlines touch, only fine detail
separates them; once they are far apart, a circle would do. We offer RBF kernels of five widths and watch which of
them the weights go to. The experiment follows Sonnenburg, Rätsch, Schäfer and Schölkopf, *Large scale multiple kernel
learning* (2006), section 4.1; sizes and noise are our own.
"""

# %%
# The data
# --------
# Only the distance between the stars changes. It is measured in the same units as the coordinates; the inner star has a
# mean radius of 4.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, MKLClassifier
from kernelweave.datasets import make_star

colours = plt.colormaps["viridis"](np.linspace(0.0, 0.9, 5))
fig, axes = plt.subplots(1, 3, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
for ax, distance in zip(axes, (0.5, 2.0, 5.0), strict=True):
    X, y = make_star(600, distance, random_state=0)
    ax.scatter(*X[y < 0].T, s=7, color=colours[0], marker="o", label="inner star")
    ax.scatter(*X[y > 0].T, s=12, color=colours[3], marker="+", linewidths=0.8, label="outer star")
    ax.set_title(f"distance {distance:g}")
    ax.set_aspect("equal")
    ax.set_xlabel("$x_1$ (no unit)")
axes[0].set_ylabel("$x_2$ (no unit)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)

# %%
# The weights
# -----------
# ``RBF(gamma)`` is :math:`\exp(-\gamma\lVert x - x'\rVert^2)`: the larger ``1 / gamma``, the wider. Every fit is
# certified to a relative gap of 0.001, so what we see are the optimal weights and not a stage on the way.
widths = [0.01, 0.1, 1.0, 10.0, 100.0]
kernel = sum(RBF(1.0 / width) for width in widths)
distances = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0])
weights, errors = [], []
for distance in distances:
    model = MKLClassifier(kernel).fit(*make_star(400, distance, random_state=0))
    weights.append(model.weights_)
    errors.append(100 * (1 - model.score(*make_star(2000, distance, random_state=1))))
weights = np.array(weights)

fig, (top, low) = plt.subplots(
    2, 1, figsize=(9, 5.5), layout="constrained", sharex=True, gridspec_kw={"height_ratios": [3, 1]}
)
for m, (width, marker) in enumerate(zip(widths, "osD^v", strict=True)):
    top.plot(distances, weights[:, m], color=colours[m], marker=marker, label=f"1 / gamma = {width:g}")
top.set_ylabel("learned weight (share of 1)")
top.set_title("From narrow to wide kernels as the stars move apart")
fig.legend(frameon=False, loc="outside right upper")
low.plot(distances, errors, color="0.35", marker=".")
low.set_ylabel("test error (%)")
low.set_ylim(bottom=0)
low.set_xlabel("distance between the stars (units of x)")
for ax in (top, low):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# One number tells it: the weighted mean of the logarithm of the width grows with the distance.
for distance, mean in zip(distances, weights @ np.log10(widths), strict=True):
    print(f"distance {distance:<5g} mean log10(1 / gamma) {mean:+.2f}")

# %%
# While the stars overlap, the narrowest kernel takes all the weight. There it does not find structure: it tells every
# sample from every other one, which is the cheapest way to fit what cannot be separated, and the test error
# shows it. Weights explain how a machine separates its *training* samples; whether that is worth
# anything, a test set has to say.
plt.show()
