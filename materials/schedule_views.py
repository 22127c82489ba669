"""Setting, changing, cancelling the time of an act, and noting that one could not be done then."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from materials import schedules, signed_out
from materials.guard import insist, needs
from materials.models import Material, Schedule
from materials.posted_from import posted_from
from materials.refusals import ActionRefused, InvalidMaterial, TryAgain, UnknownMaterial
from materials.schedule_forms import ZONE_COOKIE, ScheduleForm


def schedule_again(request: HttpRequest, material_id: str) -> HttpResponse:
    """The form as it was sent; nothing is planned."""
    act = _act_asked(request)
    material = get_object_or_404(Material, material_id=material_id)
    messages.warning(request, signed_out.said_of(request))
    return _page(request, material, act, ScheduleForm.as_typed(request))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("materials.view_material", again=schedule_again)
def schedule(request: HttpRequest, material_id: str) -> HttpResponse:
    """The time of `act`, publish or withdraw, in a form. A fault stands beside its field (422)."""
    act = _act_asked(request)
    material = get_object_or_404(Material, material_id=material_id)
    if request.method != "POST":
        planned = _planned(material, act)
        form = ScheduleForm.of(planned, request, draft_version=material.version)
        return _page(request, material, act, form)
    form = ScheduleForm.posted(request)
    if form.is_valid():
        try:
            planned = schedules.plan(
                material_id,
                act=act,
                due_at=form.cleaned_data["when"],
                zone=form.cleaned_data["zone"],
                reason=form.cleaned_data["reason"],
                version=form.cleaned_data["version"],
                user=cast(User, request.user),
            )
        except UnknownMaterial as refusal:
            raise Http404(str(refusal)) from refusal
        except (InvalidMaterial, TryAgain) as refusal:
            form.show(refusal)
        else:
            messages.success(request, _said(material, planned))
            response = redirect("materials:history", material_id)
            response.set_cookie(
                ZONE_COOKIE,
                planned.zone,
                max_age=365 * 24 * 3600,
                secure=settings.SESSION_COOKIE_SECURE,
                samesite="Lax",
                httponly=True,
            )
            return response
    return _page(request, material, act, form, status=422)


@posted_from(reverse_lazy("materials:list"))
@needs("materials.view_material")
def cancel(request: HttpRequest, number: int) -> HttpResponse:
    """Take a planned act back; needs the right to the act itself."""
    planned = _find(request, number)
    try:
        schedules.cancel(number, actor=cast(User, request.user).get_username())
    except ActionRefused as refusal:
        messages.warning(request, str(refusal))
    else:
        messages.success(request, _("It stays as it is: the planned time is cancelled."))
    return redirect("materials:history", planned.material_id)


@posted_from(reverse_lazy("materials:list"))
@needs("materials.view_material")
def note(request: HttpRequest, number: int) -> HttpResponse:
    """Show no longer that a planned act failed; needs the right to the act itself."""
    planned = _find(request, number)
    try:
        schedules.note(number, actor=cast(User, request.user).get_username())
    except ActionRefused as refusal:
        messages.warning(request, str(refusal))
    return redirect("materials:history", planned.material_id)


def _find(request: HttpRequest, number: int) -> Schedule:
    planned = Schedule.objects.filter(pk=number).first() if number < 2**63 else None
    if planned is None:
        raise Http404
    insist(request, schedules.RIGHTS[Schedule.Act(planned.act)])
    return planned


def _act_asked(request: HttpRequest) -> str:
    act = request.POST.get("act") or request.GET.get("act") or Schedule.Act.PUBLISH
    if act not in Schedule.Act.values:
        raise Http404
    insist(request, schedules.RIGHTS[Schedule.Act(act)])
    return act


def _page(
    request: HttpRequest, material: Material, act: str, form: ScheduleForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "material": material,
        "act": act,
        "form": form,
        "planned": _planned(material, act),
        "past": material.schedules.exclude(state=Schedule.State.PENDING).order_by("-id")[:10],
    }
    return render(request, "materials/schedule.html", context, status=status)


def _planned(material: Material, act: str) -> Schedule | None:
    return material.schedules.filter(state=Schedule.State.PENDING, act=act).first()


def _said(material: Material, planned: Schedule) -> str:
    values = {"title": material.title, "when": planned.when}
    if planned.act == Schedule.Act.PUBLISH:
        return _("“%(title)s” will be published on %(when)s.") % values
    return _("“%(title)s” will be withdrawn on %(when)s.") % values
