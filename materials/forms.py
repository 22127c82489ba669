"""The editors' forms. They take text apart and show faults; the limits are the actions' own."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, Self

from django import forms
from django.core.validators import ProhibitNullCharactersValidator
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from materials.content import BODY_LIMIT, REASON_LIMIT, SUMMARY_LIMIT, TITLE_LIMIT, Content
from materials.models import Material
from materials.posted_text import broken_fields
from materials.refusals import ActionRefused, InvalidMaterial


class _ShowsRefusals(forms.Form):
    limits: Mapping[str, int] = {}
    prose: Set[str] = frozenset()  # may be in a language that is written from the right
    broken: Set[str] = frozenset()

    @classmethod
    def posted(cls, request: HttpRequest) -> Self:
        """The form as it was sent. A field whose bytes are no text is refused."""
        form = cls(request.POST)
        form.broken = broken_fields(request)
        return form

    @classmethod
    def as_typed(cls, request: HttpRequest) -> Self:
        """The form with what was sent in it, which nobody has judged yet."""
        return cls(initial={name: request.POST.get(name, "") for name in cls.base_fields})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, limit in self.limits.items():
            # Shown by a counter; a `maxlength` would cut off what is pasted without a word.
            self.fields[name].limit = limit  # type: ignore[attr-defined]
            self.fields[name].widget.attrs["data-limit"] = limit
        for name, field in self.fields.items():
            if name in self.prose:
                field.widget.attrs["dir"] = "auto"
            # The actions say it too, together with everything else that is wrong.
            field.validators = [
                validator
                for validator in field.validators
                if not isinstance(validator, ProhibitNullCharactersValidator)
            ]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name in self.broken & self.fields.keys():
            self.add_error(
                name, _("Part of this came as bytes that are no text. Remove or retype each “�”.")
            )
        return data

    def show(self, refusal: ActionRefused) -> None:
        """Put each fault beside its field, and what concerns no field above the form."""
        if not isinstance(refusal, InvalidMaterial):
            self.add_error(None, str(refusal))
            return
        for field, sentences in refusal.errors.items():
            for sentence in sentences:
                self.add_error(field if field in self.fields else None, sentence)


class DraftForm(_ShowsRefusals):
    """A draft, with the version it was made from."""

    limits = {"title": TITLE_LIMIT, "summary": SUMMARY_LIMIT, "body": BODY_LIMIT}
    prose = frozenset({"title", "summary", "body", "tags"})

    title = forms.CharField(label=_("Title"), required=False)
    summary = forms.CharField(
        label=_("Summary"),
        required=False,
        help_text=_("One or two sentences for the list. At most 500 characters."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    body = forms.CharField(
        label=_("Text"),
        required=False,
        strip=False,
        help_text=_("Markdown: tables, code and footnotes work."),
        widget=forms.Textarea(attrs={"rows": 24, "class": "body"}),
    )
    language = forms.CharField(
        label=_("Language"),
        required=False,
        help_text=_("A tag such as “en”, “ru” or “pt-BR”. It may stay empty."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    tags = forms.CharField(
        label=_("Tags"),
        required=False,
        help_text=_("One a line, at most 20."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_tags(self) -> list[str]:
        return str(self.cleaned_data["tags"]).splitlines()

    def clean_version(self) -> int:
        return whole_number_in(self.cleaned_data["version"])

    def content(self) -> dict[str, Any]:
        """The fields of the draft, as `actions` take them. Call after `is_valid()`."""
        names = ("title", "summary", "body", "language", "tags")
        return {name: self.cleaned_data[name] for name in names}

    def typed(self) -> Content:
        """The draft as it would be saved. Call after `is_valid()`."""
        return Content(**self.content()).tidied()

    def compared_with(self, saved: Material) -> Iterator[tuple[str, str, str]]:
        """Each field's name, the text in this form, and the text of that draft."""
        mine = self.typed()
        for name in ("title", "summary", "body", "language"):
            yield name, getattr(mine, name), getattr(saved, name)
        yield "tags", "\n".join(mine.tags), "\n".join(saved.tags)


class NewMaterialForm(DraftForm):
    """A draft with the id that it will keep for ever."""

    material_id = forms.CharField(
        label=_("Id"),
        required=False,
        help_text=_(
            "Stands in the address and stays for ever: small Latin letters, digits, “.”, “_”, “-”."
        ),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    field_order = ("material_id", "title", "summary", "body", "language", "tags")


class WithdrawForm(_ShowsRefusals):
    """Why a material is taken away."""

    limits = {"reason": REASON_LIMIT}
    prose = frozenset({"reason"})

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        help_text=_("For the history. At most 500 characters; it may stay empty."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def whole_number_in(text: str) -> int:
    """What an address or a form says as a number; 0, which no draft or revision has, if nothing."""
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def initial_of(material: Material) -> dict[str, Any]:
    """What a form shows of a draft."""
    return {
        "title": material.title,
        "summary": material.summary,
        "body": material.body,
        "language": material.language,
        "tags": "\n".join(material.tags),
        "version": material.version,
    }
