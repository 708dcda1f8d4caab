"""What each trick for fast inference buys and costs, from one serving point."""

from fastcalc.search.tricks.answer import Answer, best_cut, fastmode, start_at_speed
from fastcalc.search.tricks.option import Option

__all__ = ["Answer", "Option", "best_cut", "fastmode", "start_at_speed"]
