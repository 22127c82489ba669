"""Whole numbers as options of a command line give them."""


def whole_number(text: str, *, least: int, most: int) -> int | None:
    """The number, also behind zeros; None for whatever is none, or not between the two."""
    digits = text.lstrip("0")
    # Before it is read: Python refuses thousands of digits by an error of another kind.
    if not (text.isascii() and text.isdigit() and len(digits) <= len(str(most))):
        return None
    number = int(digits or "0")
    return number if least <= number <= most else None
