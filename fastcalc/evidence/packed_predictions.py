"""Column-wise storage of many predictions, rebuilt on access."""

from array import array
from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np

from fastcalc.evidence.packed_points import RebuiltSequence
from fastcalc.evidence.point import Point
from fastcalc.evidence.score import Prediction

_NUMBERS = ("expected", "low", "high", "bound", "typical", "fitted_share")
_WORDS = ("engine_used", "machine", "phase", "has_experts", "assumed")


class PackedPredictions(RebuiltSequence[Prediction]):
    """Predictions in the order of their measurements, some of which have none.

    predicted : number of measurements with a prediction [1]
    """

    def __init__(self, points: Sequence[Point]) -> None:
        self._points, self.predicted = points, 0
        self._numbers = {name: np.full(len(points), nan) for name in _NUMBERS}
        self._words: list[dict[str, Any]] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._codes = array("i", [-1]) * len(points)
        self._index = array("i")

    def take(self, index: Sequence[int], predictions: Sequence[Prediction]) -> None:
        """Store the predictions of some measurements, by position."""
        self.predicted += len(index)
        for name, numbers in self._numbers.items():
            # None is stored as NaN.
            numbers[index] = [getattr(prediction, name) for prediction in predictions]
        for position, prediction in zip(index, predictions, strict=True):
            words = tuple(getattr(prediction, name) for name in _WORDS)
            code = self._places.setdefault(words, len(self._words))
            if code == len(self._words):
                self._words.append(dict(zip(_WORDS, words, strict=True)))
            self._codes[position] = code

    def close(self) -> None:
        """Finish storing; measurements without a prediction are omitted."""
        self._index = array("i", (index for index, code in enumerate(self._codes) if code >= 0))

    def __len__(self) -> int:
        return len(self._index)

    def at(self, position: int) -> Prediction:
        """Prediction at a position among those of measurements that have one."""
        index = self._index[position]
        numbers = {name: column.item(index) for name, column in self._numbers.items()}
        # A prediction with only a bound has no range.
        fields: dict[str, Any] = {
            name: None if number != number else number for name, number in numbers.items()
        }
        return Prediction(self._points[index], **self._words[self._codes[index]], **fields)
