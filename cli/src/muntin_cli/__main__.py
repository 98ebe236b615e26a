"""`python -m muntin_cli` is the command `muntin`."""

from muntin_cli.app import main

main()
