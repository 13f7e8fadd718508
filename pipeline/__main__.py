"""``python -m pipeline`` is ``tracelake``."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
