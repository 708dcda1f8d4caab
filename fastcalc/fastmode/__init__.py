"""What each trick for fast inference buys and costs, from one serving point."""

from fastcalc.fastmode.answer import Answer, fastmode, start_at_speed
from fastcalc.fastmode.option import Option

__all__ = ["Answer", "Option", "fastmode", "start_at_speed"]
