"""`python -m acms_adapters.cli`, where the script is not on the path."""

from acms_adapters.cli import main

main()
