"""The smallest default layout that holds a batch, for every kind of request and batch at once."""

import numpy as np

from fastcalc.core.placement import Site
from fastcalc.formulas.types import Floats, Ints

_MOST = 2.0**22
"""Beyond any batch; keys of up to two thousand million kinds of requests stay exact."""


def smallest_layouts(site: Site, batches: Floats) -> tuple[Ints, Floats]:
    """Return which default layout holds each batch of each kind of request with fewest chips.

    The site's reserved tokens are an array, an element for each kind of request.

    Returns
    -------
    tuple of ndarray
        Positions in the default layouts, one beyond the last where none holds the batch; and
        their chips, nan where none does. Kinds of requests first, batches second.
    """
    count, kinds = len(site.default_layouts), np.size(site.reserved_tokens)
    most = np.broadcast_to(site.most_by_default, (count, kinds))
    held = np.minimum(np.maximum.accumulate(most, axis=0), _MOST - 1.0)
    # One sorted list of all kinds, each in a range of its own, so that one search serves all.
    ranges = np.arange(kinds) * _MOST
    wanted = ranges[:, np.newaxis] + batches
    found = np.searchsorted((held + ranges).T.ravel(), wanted)
    which = np.minimum(found - count * np.arange(kinds)[:, np.newaxis], count)
    chips = np.array([*(layout.chips for layout in site.default_layouts), np.nan])
    return which, chips[which]
