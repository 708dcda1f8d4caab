"""What each trick for fast inference buys and costs, from one serving point."""

from fastcalc.search.tricks.answer import Answer, fastmode, start_at_speed
from fastcalc.search.tricks.option import Option

__all__ = ["Answer", "Option", "fastmode", "start_at_speed"]
