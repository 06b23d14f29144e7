"""Friedman's pooling λ: each group of classes borrows from the scatter of all classes."""

from suffice.core.estimation.groups import GroupScatter


def pooled_groups(groups: GroupScatter, pooling: float) -> GroupScatter:
    """Return groups that borrow from all of them (Friedman 1989, eq. 14–16)."""
    if pooling == 0:
        return groups
    whole = groups.pooled
    # M_g(λ) = (1 − λ) M_g + λ M,   w_g(λ) = (1 − λ) w_g + λ W
    return GroupScatter(
        scatters=(1 - pooling) * groups.scatters + pooling * whole.scatters,
        weights=(1 - pooling) * groups.weights + pooling * whole.weights,
        n_means=(1 - pooling) * groups.n_means + pooling * whole.n_means,
    )
