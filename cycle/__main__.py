"""`python -m cycle`: the command line of the reproduction."""

from reproduction.cli import main

if __name__ == "__main__":
    main()
