"""`python -m docs.pictures`: write the pictures of the documentation."""

from __future__ import annotations

from docs.pictures.album import FOLDER, album


def main() -> None:
    """Write all pictures, and remove those that are no more."""
    made = {FOLDER / f"{picture.name}.svg": picture.svg() for picture in album()}
    for old in set(FOLDER.glob("*.svg")) - set(made):
        old.unlink()
    for file, svg in made.items():
        file.write_text(svg, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
