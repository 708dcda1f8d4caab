"""Run fastcalc as ``python -m fastcalc``."""

from fastcalc.cli import main

if __name__ == "__main__":
    main()
