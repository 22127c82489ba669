"""Which fields of a form came as bytes that are no text.

Django puts other characters in their place, and those would be kept without a word.
"""

from urllib.parse import unquote_to_bytes

from django.http import HttpRequest

_REPLACED = "\ufffd"


def broken_fields(request: HttpRequest) -> set[str]:
    """The names of the posted fields whose bytes are not UTF-8; lone surrogates are not.

    Our own pages send forms URL-encoded. Of any other kind the bytes are gone when they have been
    read, and a field with U+FFFD counts as broken.
    """
    if request.content_type != "application/x-www-form-urlencoded":
        return {
            name
            for name, values in request.POST.lists()
            if any(_REPLACED in value for value in values)
        }
    # Where a byte that stands for itself is no text, Django reads them all as Latin-1.
    is_whole = _is_text(request.body)
    return {
        unquote_to_bytes(name.replace(b"+", b" ")).decode(errors="replace")
        for name, _equals, value in (pair.partition(b"=") for pair in request.body.split(b"&"))
        if not _is_text(unquote_to_bytes(value)) or not (is_whole or value.isascii())
    }


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
