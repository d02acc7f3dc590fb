"""
Several views, some of them missing
===================================

The same samples, seen in three ways: two views of one hidden thing, and one of nothing. Which views belong together can
be seen without any target; and samples that lack a view need not be thrown away.
"""

# %%
# The data
# --------
# Points on a circle. One view has their coordinates among others, one has the letters of a text that changes along the
# circle, and one is noise.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, EmbeddingDisplay, Linear, MKLClassifier, MultiView, Spectrum, WeaveTransformer

rng = np.random.default_rng(0)
n = 240
angle = rng.uniform(0, 2 * np.pi, n)
numbers = np.column_stack([np.cos(angle), np.sin(angle)]) @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(n, 8))
texts = ["".join("ACGT"[int(a / np.pi * 2 + 0.6 * rng.normal()) % 4] for _ in range(30)) for a in angle]
noise = rng.normal(size=(n, 8))
y = np.sin(angle) > 0

views = {"numbers": numbers, "letters": np.array(texts, dtype=object), "noise": noise}
kernel = RBF(0.1).standardized().on("numbers") + Spectrum(k=1).on("letters") + Linear().on("noise")

# %%
# What views agree on
# -------------------
# No target is read here. The noise agrees with nothing, and gets little weight; the two coordinates that keep most of
# the similarities show the circle.
woven = WeaveTransformer(kernel).fit(views)
for name, weight in zip(views, woven.weights_, strict=True):
    print(f"{name:>8}: {weight:.2f}")
print(woven.alignment_.round(2))

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
EmbeddingDisplay.from_estimator(woven, views, angle, ax=axes[0])
axes[0].set_title("consensus of three views, coloured by the angle", fontsize="medium")
EmbeddingDisplay.from_estimator(WeaveTransformer(Linear().on("noise")).fit(views), views, angle, ax=axes[1])
axes[1].set_title("the noise alone", fontsize="medium")

# %%
# Samples that lack a view
# ------------------------
# Two in five samples lose their numbers, and two in five their letters. With a rule, all of them are learned from and
# predicted; without one, only complete samples could be.
train, test = np.arange(n) < 160, np.arange(n) >= 160
no_numbers, no_letters = rng.random((2, n)) < 0.4
gaps = {
    "numbers": np.where(no_numbers[:, None], np.nan, numbers),
    "letters": np.where(no_letters, None, views["letters"]),
    "noise": noise,
}
X = MultiView(gaps)
for rule in ("expected", "zero"):
    model = MKLClassifier(kernel.if_missing(rule), C=10.0).fit(X[train], y[train])
    print(f"{rule:>8}: {model.score(X[test], y[test]):.3f} of all new samples")
whole = train & ~no_numbers & ~no_letters
model = MKLClassifier(kernel, C=10.0).fit(X[whole], y[whole])
known = test & ~no_numbers & ~no_letters
print(
    f"complete samples only: {model.score(X[known], y[known]):.3f} of {known.sum()} new samples, nothing for the others"
)
plt.show()
