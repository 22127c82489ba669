"""What a form of the console brings."""

from django.http import HttpRequest


def posted_text(request: HttpRequest, name: str) -> str:
    """What stands there, without white space around it; empty where nothing does.

    U+0000, which PostgreSQL cannot be asked for nor keep, is shown as a character that is lost.
    """
    return request.POST.get(name, "").replace("\0", "\N{REPLACEMENT CHARACTER}").strip()
