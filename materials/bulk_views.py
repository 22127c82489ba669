"""Publishing and withdrawing many materials: each in its own transaction, each with its result.

Two steps. The list posts what was ticked, and a page says what will happen; its form posts the
materials with the versions it showed, and a draft that was changed since is not published. With
htmx a slice at a time is done, and every answer tells the results so far and sends the next slice;
without it one request does all. A form that is sent twice changes nothing twice: what is published
as it stands, or is withdrawn already, is refused. What is withdrawn is published again only where
that is ticked on the page that asks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from materials import actions, signed_out
from materials.forms import WithdrawForm, whole_number_in
from materials.guard import insist, needs
from materials.listing import Selection
from materials.models import Material, MaterialQuerySet, is_material_id
from materials.posted_from import posted_from
from materials.refusals import ActionRefused, InvalidMaterial
from messaging import outbox

RIGHTS = {"publish": "materials.publish_material", "withdraw": "materials.withdraw_material"}
MOST = 1000
COMES_BACK = ":back"
SLICE = 25


@dataclass(frozen=True)
class Result:
    """What became of one material, and how it stands now; None where there is none."""

    material_id: str
    done: bool
    says: str
    material: Material | None = None


def ask_again(request: HttpRequest) -> HttpResponse:
    """The page that asks, with what was typed; nothing is done."""
    act = _act_asked(request)
    if act is None:
        return redirect("materials:list")
    messages.warning(request, signed_out.said_of(request))
    return _ask(request, act, WithdrawForm.as_typed(request))


@posted_from("materials:list")
@needs("materials.view_material", again=ask_again)
def act_on_many(request: HttpRequest) -> HttpResponse:
    """`act` on the ticked `material`s, or on `all` of a selection: first the page that asks."""
    act = _act_asked(request)
    if act is None:
        return redirect("materials:list")
    if "items" in request.POST:
        return _go_on(request, act)
    return _ask(request, act, WithdrawForm())


def _act_asked(request: HttpRequest) -> str | None:
    act = request.POST.get("act", "")
    if act not in RIGHTS:
        return None
    insist(request, RIGHTS[act])
    return act


def _ask(request: HttpRequest, act: str, form: WithdrawForm, *, status: int = 200) -> HttpResponse:
    materials = list(_chosen(request)[: MOST + 1])
    able = [each for each in materials[:MOST] if _is_able(each, act)]
    # Somebody took these away from readers: they come back only where that is asked for.
    withdrawn = [each for each in able if each.state == Material.State.WITHDRAWN]
    usual = [each for each in able if each.state != Material.State.WITHDRAWN]
    context = {
        "act": act,
        "able": able,
        "usual": usual,
        "withdrawn": withdrawn,
        "unable": len(materials[:MOST]) - len(able),
        "too_many": len(materials) > MOST,
        "most": MOST,
        "items": _items(usual),
        "withdrawn_items": _items(withdrawn, suffix=COMES_BACK),
        "withdraw_form": form,
    }
    return render(request, "materials/bulk.html", context, status=status)


def _items(materials: Iterable[Material], *, suffix: str = "") -> str:
    return " ".join(f"{each.material_id}:{each.version}{suffix}" for each in materials)


def _go_on(request: HttpRequest, act: str) -> HttpResponse:
    items = request.POST.get("items", "").split()
    if request.POST.get("with_withdrawn"):
        items += request.POST.get("withdrawn_items", "").split()
    items = items[:MOST]
    form = WithdrawForm.posted(request)
    if not form.is_valid():
        return _ask(request, act, form, status=422)
    reason = form.cleaned_data["reason"]
    fragment = "HX-Request" in request.headers
    slice_, rest = (items[:SLICE], items[SLICE:]) if fragment else (items, [])
    user = cast(User, request.user)
    before = whole_number_in(request.POST.get("before", "0"))
    is_bulk = before + len(items) > outbox.MOST_AT_ONCE
    results = [_act(act, item, reason=reason, user=user, bulk=is_bulk) for item in slice_]
    done = whole_number_in(request.POST.get("done", "0")) + sum(result.done for result in results)
    count = before + len(results)
    context = {
        "act": act,
        "results": _as_they_stand(results),
        "rest": " ".join(rest),
        "reason": reason,
        "count": count,
        "total": before + len(items),
        "done": done,
        "refused": count - done,
        "is_first": not before,
        "fragment": fragment,
    }
    template = "materials/_bulk_results.html" if fragment else "materials/bulk_done.html"
    return render(request, template, context)


def _as_they_stand(results: list[Result]) -> list[Result]:
    few = Material.objects.without_texts()
    standing = few.in_bulk([each.material_id for each in results], field_name="material_id")
    return [replace(each, material=standing.get(each.material_id)) for each in results]


def _act(act: str, item: str, *, reason: str, user: User, bulk: bool) -> Result:
    material_id, _colon, version = item.removesuffix(COMES_BACK).partition(":")
    if not is_material_id(material_id):
        return Result(ascii(material_id)[1:-1][:64], False, _("There is no such material."))
    try:
        if act == "publish":
            done = actions.publish(
                material_id,
                actor=user.get_username(),
                user=user,
                version=whole_number_in(version),
                bulk=bulk,
                comes_back=item.endswith(COMES_BACK),
            )
            says = _("published as revision %d") % done.number
        else:
            done = actions.withdraw(
                material_id, reason=reason, actor=user.get_username(), user=user, bulk=bulk
            )
            says = _("withdrawn as revision %d") % done.number
    except InvalidMaterial as refusal:
        return Result(material_id, False, " ".join(_sentences(refusal)))
    except ActionRefused as refusal:
        return Result(material_id, False, str(refusal))
    return Result(material_id, True, says)


def _sentences(refusal: InvalidMaterial) -> Iterator[str]:
    for sentences in refusal.errors.values():
        yield from sentences


def _chosen(request: HttpRequest) -> MaterialQuerySet:
    if request.POST.get("all"):
        found = Selection.from_query(request.POST.dict()).materials()
    else:
        # Ticked in the list, or on the page that asked.
        items = [
            item
            for name in ("items", "withdrawn_items")
            for item in request.POST.get(name, "").split()
        ]
        ids = [*request.POST.getlist("material"), *(item.partition(":")[0] for item in items)]
        found = Material.objects.filter(material_id__in=list(filter(is_material_id, ids[:MOST])))
    return found.without_texts()


def _is_able(material: Material, act: str) -> bool:
    if act == "publish":
        return material.differs
    return material.state == Material.State.PUBLISHED
