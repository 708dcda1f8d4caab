"""What a measured point was measured on: its chip, model and layout, as the catalogue has them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue, Kind
from fastcalc.core.layout import Layout
from fastcalc.core.machine import machine
from fastcalc.core.machine_class import engine_of_class
from fastcalc.core.memory import OWN_MEMORY
from fastcalc.core.placement import Placement, Site
from fastcalc.core.scenario import default_cache
from fastcalc.core.workload import Workload, workload
from fastcalc.errors import InputError
from fastcalc.evidence.point import Point

Entry = Hardware | Model | Engine
AnyEntry = TypeVar("AnyEntry", Hardware, Model, Engine)


MOST_SUGGESTIONS = 20
"""Unknown names of one file for which the nearest known ones are looked for."""


class UnpredictableError(Exception):
    """A point that nothing can be predicted of; the text says why."""


@dataclass(frozen=True)
class Deployment:
    """A model on chips under an engine, as a point describes it.

    Attributes
    ----------
    hardware, model, engine : Hardware, Model, Engine
        Entries of the catalogue; the engine is the one used, stated or not.
    work : Workload
        The model in the point's formats.
    layout : Layout or None
        As stated; None for the default placement.
    chips : int or None
        As stated.
    """

    hardware: Hardware
    model: Model
    engine: Engine
    work: Workload
    layout: Layout | None
    chips: int | None

    def place(self, reserved: float) -> Placement:
        """Return it placed, with some tokens of cache reserved for a sequence.

        A measurement was made on its layout, whatever the placement would have chosen, so none
        is refused that holds the weights.

        Raises
        ------
        UnpredictableError
            If the weights do not fit.
        """
        site = Site(machine(self.hardware, self.engine, self.work, OWN_MEMORY), self.work, reserved)
        placement = self._on(site)
        if placement is None or placement.max_batch < 1:
            where = f"{self.hardware.id}'s {site.machine.tier.name}"
            raise UnpredictableError(f"the weights and one sequence do not fit {where}")
        return placement

    def _on(self, site: Site) -> Placement | None:
        if self.layout is not None:
            return site.place(self.layout)
        if self.chips is None:
            return site.smallest(1)
        try:
            return site.place(site.with_chips(self.chips, [1]))
        except InputError:
            return None


@dataclass
class Deployments:
    """Deployments of points, each looked up once; an engine given is taken for all of them."""

    catalogue: Catalogue
    engine: Engine | None = None
    _known: dict[tuple[object, ...], Deployment | UnpredictableError] = field(default_factory=dict)
    _entries: dict[tuple[str, str], Entry | InputError] = field(default_factory=dict)
    _names: dict[Kind, frozenset[str]] = field(default_factory=dict)
    _unknown: int = 0

    def of(self, point: Point) -> Deployment:
        """Return the deployment of a point.

        Raises
        ------
        UnpredictableError
            If an id or a format is unknown, or the layout impossible.
        """
        names = (point.hardware, point.model, point.engine, point.weights, point.kv)
        key = (*names, point.chips, point.tp, point.ep, point.pp, point.dp)
        if key not in self._known:
            try:
                self._known[key] = self._find(point)
            except InputError as error:
                self._known[key] = UnpredictableError(str(error))
            except UnpredictableError as reason:
                self._known[key] = reason
        found = self._known[key]
        if isinstance(found, UnpredictableError):
            raise found
        return found

    def _find(self, point: Point) -> Deployment:
        hardware = self._entry(self.catalogue.hardware, point.hardware, "hardware")
        model = self._entry(self.catalogue.model, point.model, "models")
        engine = self.engine
        if engine is None:
            is_stated = point.engine.lower() in self._all("engines")
            name = point.engine if is_stated else engine_of_class(hardware)[0]
            engine = self._entry(self.catalogue.engine, name, "engines")
        weights = point.weights or None
        work = workload(model, weights, point.kv or default_cache(model, engine, weights))
        return Deployment(hardware, model, engine, work, _layout(point), point.chips)

    def _entry(self, look_up: Callable[[str], AnyEntry], name: str, kind: Kind) -> AnyEntry:
        """Return what a name means, or raise why it means nothing; a file is read once.

        Only the first unknown names get a suggestion: looking for what was meant takes time.
        """
        key = kind, name
        if key not in self._entries:
            try:
                may_be_file = "/" in name or "." in name
                is_late = self._unknown >= MOST_SUGGESTIONS and not may_be_file
                if is_late and name.lower() not in self._all(kind):
                    raise InputError(f"'{name[:40]}' is among no {kind} of the catalogue")
                self._entries[key] = look_up(name)
            except InputError as error:
                self._unknown += 1
                self._entries[key] = error
        found = self._entries[key]
        if isinstance(found, InputError):
            raise found
        return cast(AnyEntry, found)

    def _all(self, kind: Kind) -> frozenset[str]:
        if kind not in self._names:
            self._names[kind] = self.catalogue.known(kind)
        return self._names[kind]


def _layout(point: Point) -> Layout | None:
    """Return the layout that a point states, or None where it leaves it open."""
    if point.tp is None and point.pp is None and point.dp is None:
        return None
    tp, pp = point.tp or 1, point.pp or 1
    dp = point.dp or max((point.chips or tp * pp) // (tp * pp), 1)
    layout = Layout(tp=tp, pp=pp, ep=point.ep or 1, dp=dp)
    if point.chips is not None and layout.chips != point.chips:
        raise UnpredictableError(f"{point.chips} chips are not tp {tp} x pp {pp} x dp {dp}")
    return layout
