"""``python -m suffice`` is the command ``suffice``."""

from suffice.cli import main

main()
