"""First screens on a terminal: what is bold, that nothing has a hue, and that lines fit.

The commands are the ten that people type most, at 80 columns and at 120.
"""

import re

import pytest

from fastcalc.core.scenario import Scenario, solve
from fastcalc.report import console
from fastcalc.report.console import TextTable, render
from fastcalc.report.record_tables import tables, words
from fastcalc.report.headings import key_figure
from tests.helpers import run

SCREENS = {
    "compare": ("tok/s per user",),
    "compare deepseek-r1 --on h200-sxm,wse-3 --batch 1,256": ("tok/s per user",),
    "fit deepseek-r1 --on h100-sxm,wse-3": ("chips",),
    "plan llama-3.1-70b --ttft 1s --tpot 25ms --rate 20/s --on h200-sxm,b200": ("$ a month",),
    "fastmode glm-4.7 --on h200-sxm --speedup 2 --only-same": ("cost",),
    "frontier deepseek-r1 --on h200-sxm": ("tok/s per user",),
    "sensitivity llama-3.1-8b --on h100-sxm": ("+10 %: tok/s",),
    "decide sub=speed=65,plan=200 api=speed=65,price=25": ("to one success",),
    "infer --speeds 65,170 --prices 25,150 --points 20000": ("enough",),
    "show h200-sxm": ("value",),
    "list engines": ("id",),
}
