"""
The scales of a function: sine waves
====================================

A regression kernel should be about as wide as the features of the curve. We fit sine waves with RBF kernels of
several widths and look at the widths that get the weight: first one wave of growing frequency, then a fast wave, a
slow wave and a straight line together. The experiments follow Sonnenburg, Rätsch, Schäfer and Schölkopf, *Large scale
multiple kernel learning* (2006), section 4.1; sizes and noise are our own.
"""

# %%
# One wave
# --------
# The samples carry noise of standard deviation 0.1. Errors of up to ``epsilon=0.25`` cost nothing, so the noise does
# not have to be fitted; with a smaller epsilon the narrowest kernel gets a share for doing so.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, MKLRegressor
from kernelweave.datasets import make_sines

widths = [0.005, 0.05, 0.5, 5.0, 50.0]
kernel = sum(RBF(1.0 / width) for width in widths)
frequencies = np.geomspace(0.5, 16.0, 11)
models = [
    MKLRegressor(kernel, C=10, epsilon=0.25).fit(*make_sines(300, [frequency], random_state=0))
    for frequency in frequencies
]
weights = np.array([model.weights_ for model in models])

# %%
# Above, three of the fits; below, the weights of all of them.
colours = plt.colormaps["viridis"](np.linspace(0.0, 0.9, len(widths)))
fig = plt.figure(figsize=(9, 6), layout="constrained")
grid = fig.add_gridspec(2, 3, height_ratios=[1, 1.6])
for column, number in enumerate((0, 4, 8)):
    ax = fig.add_subplot(grid[0, column])
    X, y = make_sines(300, [frequencies[number]], random_state=0)
    ax.plot(X[:, 0], y, ".", color="0.6", markersize=3, label="samples")
    ax.plot(X[:, 0], models[number].predict(X), color=colours[1], label="fit")
    ax.set_title(f"frequency {frequencies[number]:.2g} rad per unit of x", fontsize="medium")
    ax.set_xlabel("x (no unit)")
    ax.set_ylim(-1.5, 2.3)
    ax.spines[["top", "right"]].set_visible(False)
    if column == 0:
        ax.set_ylabel("y (no unit)")
        ax.legend(frameon=False, ncols=2, loc="upper center")
ax = fig.add_subplot(grid[1, :])
for m, (width, marker) in enumerate(zip(widths, "osD^v", strict=True)):
    ax.plot(frequencies, weights[:, m], color=colours[m], marker=marker, label=f"{width:g}")
ax.set_xscale("log", base=2)
ax.set_xticks([0.5, 1, 2, 4, 8, 16], ["0.5", "1", "2", "4", "8", "16"])
ax.set_xlabel("frequency (rad per unit of x)")
ax.set_ylabel("learned weight (share of 1)")
ax.set_title("The faster the wave, the narrower the kernel")
handles = ax.get_legend_handles_labels()
fig.legend(*handles, title="1 / gamma (units of x²)", frameon=False, loc="outside lower center", ncols=5)
ax.spines[["top", "right"]].set_visible(False)

# %%
# Two waves and a line
# --------------------
# y = sin(a x) + sin(x) + x / 2 with ten widths to choose from. The frequency a of the fast wave grows, the rest stays.
widths = np.geomspace(1e-3, 1e3, 10)
kernel = sum(RBF(1.0 / width) for width in widths)
fast = np.geomspace(2.0, 32.0, 9)
weights = []
for frequency in fast:
    X, y = make_sines(400, [frequency, 1.0], slope=0.5, random_state=0)
    weights.append(MKLRegressor(kernel, C=10, epsilon=0.25).fit(X, y).weights_)
weights = np.array(weights).T

fig, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
image = ax.imshow(weights, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=1)
for (row, column), weight in np.ndenumerate(weights):
    if weight >= 0.005:
        ax.text(column, row, f"{weight:.2f}", ha="center", va="center", color="black" if weight > 0.5 else "white")
ax.set_xticks(range(len(fast)), [f"{frequency:.3g}" for frequency in fast])
ax.set_yticks(
    range(len(widths)), [np.format_float_positional(w, precision=2, fractional=False, trim="-") for w in widths]
)
ax.set_xlabel("frequency a of the fast wave (rad per unit of x)")
ax.set_ylabel("1 / gamma (units of x²)")
ax.set_title("One width for each part of sin(a x) + sin(x) + x / 2")
fig.colorbar(image, label="learned weight (share of 1)")

# %%
# Every column has separated widths: a narrow one, which gets narrower as the fast wave gets faster; the widest of
# all, which is as good as linear, for the line; and, once the two waves are well apart, one or two in the middle for
# the slow one. Most of the other weights are zero.
plt.show()
