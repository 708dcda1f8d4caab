"""What each trick for fast inference buys and costs, from one serving point."""

from fastcalc.search.fastmode.answer import FastModeAnswer, fastmode, start_at_speed
from fastcalc.search.fastmode.option import Option

__all__ = ["FastModeAnswer", "Option", "fastmode", "start_at_speed"]
