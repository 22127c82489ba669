"""What the catalog holds when a browser looks at it."""

from datetime import UTC, datetime, timedelta

from tests.materials.catalog.facts import project_batch, published, withdrawn

NEWEST = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

EVERYTHING = """\
## A heading

Some *words*, **strong ones**, `code`, ~~gone~~, a [link](https://example.org) and a note[^1].

| what | how many | a very long heading of a column indeed |
|:--|--:|:-:|
| queues | 12 | Something long enough to make the table scroll on a narrow screen |

```python
def deliver(message: Message) -> Outcome: return broker.publish(message, mandatory=True, timeout=30)
```

> A quotation.

1. One
2. Two
   - nested

![Icon](/static/icon.svg) ![Elsewhere](https://example.org/a.png)

---

[^1]: The note.
"""


def fill() -> None:
    """One page and a bit of the catalog: everything a text can hold, two languages, tags."""
    project_batch(
        [
            published(
                "everything",
                3,
                title="Everything a text can hold",
                summary="Headings, tables, code, notes and images.",
                body=EVERYTHING,
                language="en-GB",
                tags=["sample", "queues & more"],
                occurred_at=NEWEST,
            ),
            published(
                "long-word",
                title="Donau" + "dampfschifffahrts" * 10,
                body="kapitän" * 60,
                tags=["w" * 50],
                occurred_at=NEWEST - timedelta(days=1),
            ),
            withdrawn("gone", 2),
            *(
                published(
                    f"note-{n:02}",
                    title=f"Заметка {n}",
                    summary="Краткое содержание.",
                    language="ru",
                    tags=["заметки"],
                    occurred_at=NEWEST - timedelta(days=2, hours=n),
                )
                for n in range(24)
            ),
        ]
    )
