"""``python -m suffice`` runs the command ``suffice``."""

from suffice.cli import main

main()
