"""Types of field values in Python: text as typed, numbers, lists and catalogue entries."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fastcalc.catalogue.schema import Engine, Hardware, Model

ModelGiven = str | Path | Model
ModelsGiven = list[str | Path | Model]
ChipsGiven = str | Path | Hardware | Iterable[str | Path | Hardware]
EngineGiven = str | Path | Engine
EnginesGiven = str | Path | Engine | Iterable[str | Path | Engine]
EntryGiven = str | Path | Hardware | Model | Engine
HostGiven = str | Path | Hardware | Mapping[str, str | float]
CountsGiven = str | int | Iterable[str | int]
NumbersGiven = str | Iterable[float]
NumberGiven = str | float
DraftsGiven = str | float | Iterable[str | float]
PathGiven = str | Path
WordsGiven = str | Iterable[str]
PlacesGiven = str | Mapping[str, str]
OwnedGiven = list[str] | Mapping[str, int]
PricesGiven = list[str] | Mapping[str, float]
ChangesGiven = list[str] | Mapping[str, str | float | Iterable[str | float]]
