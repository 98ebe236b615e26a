"""`python -m docs.pictures`: write the pictures of the documentation."""

from __future__ import annotations

from docs.pictures.album import ALBUM, FOLDER


def main() -> None:
    """Write all pictures, and remove those that are no longer in the album."""
    for file in FOLDER.glob("*.svg"):
        if file.stem not in ALBUM:
            file.unlink()
    for name, picture in ALBUM.items():
        (FOLDER / f"{name}.svg").write_text(picture.svg(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
