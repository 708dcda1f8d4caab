"""Measured deployments of an engine file, joined with those of the engine that it extends."""

from fastcalc.catalogue.reader import Document
from fastcalc.written import Json

_POINT = ("batch", "context", "prompt", "drafted")
"""Keys of a row that identify what was measured."""
_RESULTS = {"rows", "file", "date"}


def is_fitted(document: Document) -> bool:
    """Whether a file has values from a fit, which change the predictions that rows refer to."""
    groups = [document.mapping("parameters")]
    groups += [
        document.mapping("architectures", name) for name in document.mapping("architectures")
    ]
    quantities = [quantity for group in groups for quantity in group.values()]
    return any(isinstance(item, dict) and item.get("source") == "fit" for item in quantities)


def joined_deployments(stated: Json, inherited: Json) -> Json:
    """Own deployments, then inherited ones; rows of the same deployment are joined.

    A row replaces an inherited one at the same batch and lengths.
    """
    if not isinstance(stated, list) or not isinstance(inherited, list):
        return stated
    joined, further = list(stated), list[Json]()
    for deployment in inherited:
        matches = (index for index, item in enumerate(stated) if _is_same(item, deployment))
        if (at := next(matches, None)) is None:
            further.append(deployment)
        else:
            joined[at] = _with_rows(joined[at], deployment)
    return [*joined, *further]


def _is_same(first: Json, second: Json) -> bool:
    """Whether two deployments are equal in all but their results."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    keys = (first.keys() | second.keys()) - _RESULTS
    return all(first.get(key) == second.get(key) for key in keys)


def _with_rows(deployment: Json, inherited: Json) -> Json:
    """A deployment with the rows of an inherited one at other batches or lengths."""
    if not isinstance(deployment, dict) or not isinstance(inherited, dict):
        return deployment
    rows, further = deployment.get("rows"), inherited.get("rows")
    if not isinstance(rows, list) or not isinstance(further, list):
        return deployment
    points = [_point(row) for row in rows]
    return {**deployment, "rows": [*rows, *(row for row in further if _point(row) not in points)]}


def _point(row: Json) -> list[Json]:
    return [row.get(key) for key in _POINT] if isinstance(row, dict) else []
