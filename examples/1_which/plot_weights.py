"""
Which views matter, and how do we know?
=======================================

Four sensors watch the same machine. Two of them tell whether it is about to fail: the vibration, by
how far it is from its resting point, and the temperature, by its level. The other two record
nothing of interest. We offer every sensor through two kernels and look at what is learned.
"""

# %%
# The data
# --------
# Views of different widths go into a dict. Everything is generated, so the truth is known.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, Linear, MKLClassifier

rng = np.random.default_rng(0)
n = 300
X = {
    "vibration": rng.standard_normal((n, 2)),
    "temperature": rng.standard_normal((n, 3)),
    "humidity": rng.standard_normal((n, 4)),
    "noise": rng.standard_normal((n, 4)),
}
distance = np.linalg.norm(X["vibration"], axis=1)
risk = distance + X["temperature"][:, 0] + 0.1 * rng.standard_normal(n)
y = risk > np.median(risk)

# %%
# Three norms
# -----------
# The kernel has eight terms. ``norm=1`` wants few of them, larger norms want more, and ever more equal ones.
kernel = sum(k.on(view) for view in X for k in (Linear(), RBF()))
norms = {"norm=1": 1, "norm=1.5": 1.5, "norm=4": 4}
models = {name: MKLClassifier(kernel, norm=norm).fit(X, y) for name, norm in norms.items()}

for name, model in models.items():
    print(f"{name:<9} gap {model.gap_:.1e} ({model.stop_reason_}), {np.sum(model.weights_ > 1e-3)} terms in use")

# %%
# The weights
# -----------
# Shares make the three comparable: with ``norm=1`` the weights add up to one, with other norms to more.
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
colours = ["#2a6f97", "#d1603d", "#9aa5ab"]
places = np.arange(len(models["norm=1"].term_names_))
for shift, (name, model) in enumerate(models.items()):
    share = 100 * model.weights_ / model.weights_.sum()
    ax.barh(places + 0.27 * (shift - 1), share, height=0.25, color=colours[shift], label=name)
ax.set_yticks(places, models["norm=1"].term_names_)
ax.invert_yaxis()
ax.set_xlabel("share of the weights (%)")
ax.set_title("The terms that made the data stand out")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# The way there
# -------------
# Two solvers on the same problem: both close in on the optimum from above and from below, and what
# lies between the bounds is all that is left to gain.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, solver in zip(axes, ("auto", "silp"), strict=True):
    model = MKLClassifier(kernel, solver=solver).fit(X, y)
    steps = [entry["iteration"] for entry in model.history_]
    upper = [entry["upper"] for entry in model.history_]
    lower = [entry["lower"] for entry in model.history_]
    ax.plot(steps, upper, color=colours[1], marker=".", label="reached so far (upper bound)")
    ax.plot(steps, lower, color=colours[0], marker=".", label="cannot be undercut (lower bound)")
    ax.fill_between(steps, lower, upper, color=colours[2], alpha=0.3)
    ax.set_title(f"solver={model.solver_!r}: gap {model.gap_:.0e} after {model.n_iter_} steps")
    ax.set_xlabel("step of the solver")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylim(bottom=0.0)  # lower bounds may begin below zero, which is of no interest
axes[0].set_ylabel("objective (C · loss + ½‖w‖², no unit)")
axes[0].legend(frameon=False)
plt.show()
