"""The letters of a decision over many, in pieces that one transaction and the memory can bear.

All letters are walked through by id, a stretch at a time, and those that are meant picked out of
each: so no single question takes longer the more letters there are, whatever is searched for.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from messaging.models import DeadLetter, DeadLetterQuerySet

PIECE_LETTERS = 100
PIECE_BYTES = 8 * 1024 * 1024
STRETCH = 500


@dataclass(frozen=True, slots=True)
class Piece:
    """Ids in rising order, perhaps none; all letters up to `walked_to` have been looked at."""

    ids: list[int]
    walked_to: int


def newest_letter(*, using: str) -> int:
    """The id of the latest letter there is; 0 for none."""
    ids = DeadLetter.objects.using(using).order_by("-pk").values_list("pk", flat=True)
    return ids.first() or 0


def next_piece(letters: DeadLetterQuerySet, *, after: int, newest: int) -> Piece | None:
    """Of these letters the first behind that id, in the next stretch; None where that is empty."""
    all_letters = DeadLetter.objects.using(letters.db).order_by("pk")
    stretch = all_letters.filter(pk__gt=after, pk__lte=newest).values_list("pk", flat=True)
    end = max(stretch[:STRETCH], default=None)
    if end is None:
        return None
    meant = letters.filter(pk__gt=after, pk__lte=end).order_by("pk")
    found = list(meant.values_list("pk", "body_size")[: PIECE_LETTERS + 1])
    piece = next(cut(found), [])
    return Piece(piece, end if len(piece) == len(found) else piece[-1])


def cut(letters: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """The ids of these, each given with the size of its body, in pieces."""
    piece: list[int] = []
    size = 0
    for letter_id, body_size in letters:
        is_full = len(piece) == PIECE_LETTERS or size + body_size > PIECE_BYTES
        if piece and is_full:
            yield piece
            piece, size = [], 0
        piece.append(letter_id)
        size += body_size
    if piece:
        yield piece


def pieces_of(ids: Sequence[int], *, using: str) -> Iterator[list[int]]:
    """These ids, in their order, in pieces; one that is no letter's is among them."""
    letters = DeadLetter.objects.using(using).filter(pk__in=ids)
    sizes = dict(letters.order_by().values_list("pk", "body_size"))
    return cut((letter_id, sizes.get(letter_id, 0)) for letter_id in ids)


def pieces(letters: DeadLetterQuerySet, *, newest: int) -> Iterator[list[int]]:
    """The ids of all these letters up to that one; acting on a piece does not disturb the next."""
    after = 0
    while piece := next_piece(letters, after=after, newest=newest):
        if piece.ids:
            yield piece.ids
        after = piece.walked_to
