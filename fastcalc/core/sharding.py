"""Numbers of chips and ranks requested by the user, and the resulting layout."""

from dataclasses import dataclass, replace

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.placement import Site
from fastcalc.mentions import option


@dataclass(frozen=True)
class Sharding:
    """The chips and ranks requested by the user. None leaves the choice to the placement."""

    chips: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None

    @classmethod
    def of(cls, layout: Layout) -> "Sharding":
        """Convert a layout into an explicit request for each of its ranks."""
        return cls(tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)

    @property
    def cuts_layers(self) -> bool:
        """Whether layers are sharded or copied, which chips with unsplit layers do not support."""
        return any((ranks or 1) > 1 for ranks in (self.tp, self.ep, self.dp))

    @property
    def names_ranks(self) -> bool:
        """Whether at least one number of ranks is specified."""
        return any(ranks is not None for ranks in (self.tp, self.pp, self.ep, self.dp))

    def on(self, hardware: Hardware, *, is_alone: bool) -> "Sharding":
        """Adapt the request to a chip type.

        Chips that pipeline whole layers ignore a single rank per layer. Several ranks are kept,
        which leads to an error, or dropped if other requested chips support them.

        is_alone : Whether this is the only requested chip, or no other requested chip shards
            layers.
        """
        if hardware.execution != "spatial":
            return self
        tp, ep, dp = (
            ranks if is_alone and ranks != 1 else None for ranks in (self.tp, self.ep, self.dp)
        )
        return replace(self, tp=tp, ep=ep, dp=dp)

    def layout(self, site: Site) -> Layout:
        """Build the layout with the requested ranks on a site."""
        tp, pp, dp = self.tp or 1, self.pp or 1, self.dp or 1
        ranks = None if self.chips is None else self.chips * site.machine.ranks
        if ranks is not None and self.pp is None and tp == dp == 1 and not site.defaults_to("dp"):
            pp = ranks
        if ranks is not None and tp * pp * dp != ranks:
            if site.machine.is_spatial:
                site.check(Layout(tp, pp, self.ep or 1, dp))
                raise LayoutError(
                    "chips other than pp on chips that pipeline whole layers",
                    f"{option('chips')} {self.chips} is not {option('pp')} {pp}, and "
                    f"{site.machine.hardware.id} pipelines whole layers: give one of the two",
                )
            if self.dp is None and ranks % (tp * pp) == 0 and site.defaults_to("dp"):
                dp = ranks // (tp * pp)
            else:
                of = f", of {site.machine.ranks} ranks each," if site.machine.ranks > 1 else ""
                copied = (
                    f"; attention copied over {ranks} of them, as with SGLang's "
                    f"--enable-dp-attention, is {option('tp')} {ranks // dp} {option('dp')} {dp}"
                )
                is_copied = dp > 1 and self.tp == ranks and ranks % dp == 0
                raise LayoutError(
                    "chips other than tp x pp x dp",
                    f"{option('chips')} {self.chips}{of} is not tp x pp x dp = {tp} x {pp} x {dp} "
                    f"= {tp * pp * dp}{copied * is_copied}",
                )
        return site.check(Layout(tp, pp, self.ep or site.expert_ranks(tp, dp), dp))
