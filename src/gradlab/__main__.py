"""`python -m gradlab` is `gradlab`."""

from gradlab.cli import main

if __name__ == "__main__":
    main()
