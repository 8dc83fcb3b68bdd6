"""`python -m catena ...`: the command `catena`, of this package or of the machine."""

import os
import sys

from ._errors import UnavailableError
from ._pictures import command


def main() -> None:
    """Becomes the command."""
    try:
        program = command()
        os.execv(program, [program, *sys.argv[1:]])
    except (OSError, UnavailableError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
