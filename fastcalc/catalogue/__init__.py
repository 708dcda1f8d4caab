"""The catalogue: what a hardware, model or engine file holds, and how it is read."""

from fastcalc.catalogue.schema import Engine, Hardware, Model, Quantity
from fastcalc.catalogue.store import Catalogue, load, shipped

__all__ = ["Catalogue", "Engine", "Hardware", "Model", "Quantity", "load", "shipped"]
