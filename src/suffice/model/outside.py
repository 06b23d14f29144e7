"""Members of an average that are no Gaussians: trees, linear scores, classifiers of other kinds."""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.model.linear import LinearModel
from suffice.model.posterior import Posterior
from suffice.typing import Codes, Floats

_NODES = 1 << 21  # of rows and trees followed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """p(k | x) = mean over trees of the share of class k in the leaf of x."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # where x_j ≤ t leads; the node itself where it is a leaf  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    shares: Floats  # of the classes  (N, K)

    @classmethod
    def of(cls, trees: Any, classes: Any, n_classes: int) -> Self:
        """Return the trees of scikit-learn, whose classes are codes."""
        parts = [tree.tree_ for tree in trees]
        counts = np.array([part.node_count for part in parts])
        roots = np.cumsum(counts) - counts
        base, own = np.repeat(roots, counts), np.arange(counts.sum())
        left, right, feature = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("children_left", "children_right", "feature")
        )
        leaf = left < 0
        shares = np.zeros((len(own), n_classes))
        shares[:, np.asarray(classes, np.intp)] = np.concatenate([p.value[:, 0] for p in parts])
        return cls(
            roots,
            np.where(leaf, own, left + base),
            np.where(leaf, own, right + base),
            np.where(leaf, 0, feature),
            np.concatenate([part.threshold for part in parts]),
            shares / shares.sum(1, keepdims=True),
        )

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K); as scikit-learn's, trees see rows in single precision."""
        rows = np.asarray(x, np.float32)
        step = max(1, _NODES // len(self.roots))
        blocks = [self._block(rows[lo : lo + step]) for lo in range(0, len(rows), step)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.shares.shape[1]))

    def _block(self, x: Any) -> Floats:
        node, rows = np.tile(self.roots, (len(x), 1)), np.arange(len(x))[:, None]
        while True:
            lower = x[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(lower, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return np.asarray(self.shares[node].mean(1))
            node = following


@dataclass(frozen=True, slots=True, eq=False)
class ForeignModel:
    """A fitted classifier of any library with ``predict_proba``, whose classes are codes."""

    fitted: Any
    n_classes: int

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        posterior = np.zeros((len(x), self.n_classes))
        posterior[:, np.asarray(self.fitted.classes_, np.intp)] = self.fitted.predict_proba(x)
        return posterior


Outsider: TypeAlias = Trees | LinearModel | ForeignModel


@dataclass(frozen=True, slots=True, eq=False)
class TemperedModel:
    """softmax(log((1 − ε) p + ε / K) / T) of the posteriors of a classifier."""

    inner: Outsider
    temperature: float
    doubt: float  # ε
    priors: Floats  # of rows of which nothing is known  (K,)
    has_density = False

    def allowing_missing(self) -> Self:
        """Return itself: it says nothing of what is missing."""
        return self

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        scores = doubted(self.inner.posterior(x), self.doubt)
        return Posterior(self.temperature).read(scores)


def doubted(posterior: Floats, doubt: float) -> Floats:
    """Return log((1 − ε) p + ε / K), (n, K): never without bound."""
    return np.asarray(np.log((1 - doubt) * posterior + doubt / posterior.shape[1]))


def outsider_of(fitted: Any, n_classes: int) -> Outsider:
    """Return what a fitted classifier of codes knows, as arrays where we know how."""
    if type(fitted).__name__ in ("ExtraTreesClassifier", "RandomForestClassifier"):
        return Trees.of(fitted.estimators_, fitted.classes_, n_classes)
    steps = [step for _, step in getattr(fitted, "steps", ())]
    if [type(s).__name__ for s in steps] == ["StandardScaler", "LogisticRegression"]:
        scaler, logistic = steps
        if len(logistic.classes_) == n_classes:
            weights = logistic.coef_ / scaler.scale_
            return LinearModel.of(weights, logistic.intercept_, centre=scaler.mean_)
    return ForeignModel(fitted, n_classes)
