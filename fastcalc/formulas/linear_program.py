"""Small linear programs, many at once."""

import numpy as np

from fastcalc.formulas.types import Floats, floats

_TINY = 1e-12
"""What is zero but for rounding, where the largest numbers are of the order of one."""

_MOST = 500


def least_of(*, cost: Floats, rows: Floats, room: Floats) -> Floats:
    r"""Return what costs least within some limits, for each point: the simplex method. [1]

    .. math:: \min_x c^T x, \quad A x \le b, \quad x \ge 0

    Of several columns and rows that would do, the first is taken, which cannot go round in circles.

    cost : for each unknown and point, :math:`c`; there must be a least [1]
    rows : for each limit, unknown and point, :math:`A` [1]
    room : for each limit and point, :math:`b`, none of them negative [1]

    Source: Bland, "New finite pivoting rules for the simplex method," Math. Oper. Res. 2, 1977.

    >>> least_of(cost=np.array([[-3.0]]), rows=np.array([[[1.0]]]), room=np.array([[4.0]])).tolist()
    [[4.0]]
    """
    limits, unknowns = np.shape(rows)[:2]
    table = np.concatenate([floats(rows), floats(cost)[np.newaxis]])
    ends = np.concatenate([floats(room), np.zeros_like(room[:1])])
    table = np.concatenate([table, ends[:, np.newaxis]], axis=1)
    outside = np.tile(np.arange(unknowns)[:, np.newaxis], table.shape[2])
    inside = np.tile(unknowns + np.arange(limits)[:, np.newaxis], table.shape[2])
    for _ in range(_MOST):
        saves = table[-1, :-1] < -_TINY
        points = np.flatnonzero(saves.any(axis=0))
        if not points.size:
            break
        part, every = table[:, :, points], np.arange(points.size)
        enters = np.where(saves, outside, limits + unknowns)[:, points].argmin(axis=0)
        column = part[:, enters, every]
        reach = np.full((limits, points.size), np.inf)
        np.divide(part[:-1, -1], column[:-1], out=reach, where=column[:-1] > _TINY)
        is_first = reach <= reach.min(axis=0) + _TINY
        leaves = np.where(is_first, inside[:, points], limits + unknowns).argmin(axis=0)
        pivot = column[leaves, every]
        row = part[leaves, :, every].T / pivot
        part -= column[:, np.newaxis] * row
        part[leaves, :, every] = row.T
        part[:, enters, every] = -column / pivot
        part[leaves, enters, every] = 1.0 / pivot
        table[:, :, points] = part
        came, went = outside[enters, points], inside[leaves, points]
        outside[enters, points], inside[leaves, points] = went, came
    found = np.zeros((limits + unknowns, table.shape[2]))
    np.put_along_axis(found, inside, np.maximum(table[:-1, -1], 0.0), axis=0)
    return found[:unknowns]
