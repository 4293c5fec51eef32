"""The sentence on top of Home, built from what was measured: what, whose, how bad, what next."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from flowguard.console.labels import VERDICTS
from flowguard.queries import home
from flowguard.queries.home import Departure, Loss, Watch
from policyhub.console import units
from policyhub.console.registry import Alarm, Figure, Headline
from policyhub.domain.qos import dscp_name
from policyhub.templatetags.console import when


def headlines(now: datetime) -> Iterable[Headline]:
    """Fires first; without one, whether anybody looked at all."""
    watch = home.watch(now)
    found = home.departures(now)
    for row in home.needs_person():
        text = _("%(member)s could not be taken out of %(place)s. A person is needed.")
        values = {"member": row.member, "place": str(row.guard) if row.guard else "—"}
        url = reverse("console:enforcements-detail", args=[row.pk])
        yield Headline(Alarm.FIRE, text % values, url, _("Open the enforcement"), weight=1e16)
    burning = [departure for departure in found if departure.burns(now) and not departure.held]
    losses = home.losses() if burning else {}
    for departure in burning[:4]:
        yield _told(departure, losses.get(departure.dscp), now)
    for departure in [d for d in found if d.held][:3]:
        yield _held(departure)
    if watch.total == 0 or watch.judging == 0:
        yield _blind(watch)
    elif not burning:
        yield _calm(watch, found)
    elif watch.behind:
        yield Headline(Alarm.WATCH, _late(watch), reverse("console:sensors"), _("Open the sensors"))


def _mark(dscp: int) -> str:
    name = dscp_name(dscp)
    return name if name == str(dscp) else f"{name} ({dscp})"


def _told(d: Departure, loss: Loss | None, now: datetime) -> Headline:
    title, meaning = VERDICTS.get(d.problem, (d.problem, ""))
    text = format_html(
        _going_on(d) if d.goes_on(now) else _over(d),
        count=len(d.sources),
        who=_strong(d.who),
        rate=_strong(_rate(d)),
        mark=_strong(_mark(d.dscp)),
        since=when(d.first_ns),
        until=when(d.last_ns),
        title=title,
        meaning=meaning,
    )
    alarm = Alarm.FIRE if d.severity.rank >= 3 else Alarm.WATCH
    return Headline(
        alarm,
        text,
        *_next(d),
        figures=(*_figures(d), _resent(d, loss)),
        note=_state(d),
        weight=d.severity.rank * 1e13 + min(d.bytes, 1e12),
    )


def _going_on(d: Departure) -> str:
    if d.problem == "dscp-rewritten":
        return _("The network takes the mark {mark} off packets of {who} since {since}. The hosts are not to blame.")
    if d.problem:
        return _("{title}: {who}, since {since}. {meaning}")
    if d.blame == "network":
        return _("The network changes marks to {mark} on packets of {who} since {since}. The hosts are not to blame.")
    if d.known:
        return ngettext(
            "{count} host of {who} sends {rate} marked {mark} since {since}. It may not use this mark.",
            "{count} hosts of {who} send {rate} marked {mark} since {since}. They may not use this mark.",
            len(d.sources),
        )
    return _("{who} sends {rate} marked {mark} since {since}. Nobody claims this address.")


def _over(d: Departure) -> str:
    """Its last packet passed a while ago."""
    if d.problem == "dscp-rewritten":
        return _("The network took the mark {mark} off packets of {who} from {since} until {until}. The hosts are not to blame.")
    if d.problem:
        return _("{title}: {who}, from {since} until {until}. {meaning}")
    if d.blame == "network":
        return _(
            "The network changed marks to {mark} on packets of {who} from {since} until {until}. The hosts are not to blame."
        )
    if d.known:
        return ngettext(
            "{count} host of {who} sent {rate} marked {mark} from {since} until {until}. It may not use this mark.",
            "{count} hosts of {who} sent {rate} marked {mark} from {since} until {until}. They may not use this mark.",
            len(d.sources),
        )
    return _("{who} sent {rate} marked {mark} from {since} until {until}. Nobody claims this address.")


def _strong(text: str) -> SafeString:
    return format_html("<strong>{}</strong>", text)


def _rate(d: Departure) -> str:
    return units.size(d.bytes) if d.bps is None else units.rate(d.bps)


def _next(d: Departure) -> tuple[str, str]:
    if d.waits and d.enforcement:
        return reverse("console:enforcements-detail", args=[d.enforcement]), _("Review the proposed enforcement")
    if d.moving and d.enforcement:
        return reverse("console:enforcements-detail", args=[d.enforcement]), _("Watch the enforcement")
    return reverse("console:traffic-detail", args=[d.verdict]), _("Look at the evidence")


def _state(d: Departure) -> str:
    if d.moving:
        return _("An enforcement is on its way.")
    if d.waits:
        return _("An enforcement is ready and waits for a person.")
    if d.blame == "network":
        return _("Look for the hop that rewrites.")
    if d.taken_back_at:
        return format_html(
            _("The device was changed; that was taken back {when}. Since then nothing was changed."), when=when(d.taken_back_at)
        )
    return _("Nothing was changed: the group observes, or a guard rail holds it back.") if d.enforcement else ""


def _figures(d: Departure) -> tuple[Figure, ...]:
    return (
        Figure(
            _("Rate before the guard") if d.held else _("Rate"),
            "" if d.bps is None else units.rate(d.bps),
            _("all packets fell into one instant"),
        ),
        Figure(_("Packets before the guard") if d.held else _("Packets"), units.number(d.packets)),
        Figure(_("Lasted"), units.span((d.last_ns - d.first_ns) / 1e9)),
    )


def _resent(d: Departure, loss: Loss | None) -> Figure:
    shown = units.percent(loss.ratio) if loss else ""
    hint = _("too few TCP segments with this mark were seen in the last seconds")
    return Figure(_("Sent again in %(mark)s") % {"mark": _mark(d.dscp)}, shown, hint)


def _held(d: Departure) -> Headline:
    sentence = ngettext(
        "Under control: {count} host of {who} no longer rides in {mark}.",
        "Under control: {count} hosts of {who} no longer ride in {mark}.",
        len(d.sources),
    )
    text = format_html(sentence, count=len(d.sources), who=_strong(d.who), mark=_strong(_mark(d.dscp)))
    url = reverse("console:enforcements-detail", args=[d.enforcement])
    note = _("The senders still send: these figures are of the point before the guard, the proof is of the one behind it.")
    return Headline(Alarm.HANDLED, text, url, _("See the proof"), figures=_figures(d), note=note, weight=float(d.bytes))


def _blind(watch: Watch) -> Headline:
    if watch.total == 0:
        text, note = _("No sensor is connected, so nobody looks at the traffic."), _("This is not the same as calm.")
    else:
        text = _late(watch) or _("No sensor judges the traffic at the moment.")
        quiet = _("Not heard: %(names)s.") % {"names": ", ".join(watch.silent)} if watch.silent else ""
        blind = _("Without a bundle: %(names)s.") % {"names": ", ".join(watch.blind)} if watch.blind else ""
        note = " ".join(part for part in (quiet, blind, _idle(watch)) if part)
    return Headline(Alarm.BLIND, text, reverse("console:sensors"), _("Open the sensors"), note=note)


def _idle(watch: Watch) -> str:
    return _("No recent packets: %(names)s.") % {"names": ", ".join(watch.idle)} if watch.idle else ""


def _late(watch: Watch) -> str:
    """What passes now is told later: that is neither calm nor blindness."""
    if not watch.behind:
        return ""
    name, age_s = watch.behind[0]
    more = len(watch.behind) - 1
    text = _("Sensor %(name)s is %(span)s behind: what passes now will be judged that much later.") % {
        "name": name,
        "span": units.span(age_s),
    }
    others = ngettext("%(count)d other sensor is behind, too.", "%(count)d other sensors are behind, too.", more) % {
        "count": more
    }
    return f"{text} {others}" if more else text


def _calm(watch: Watch, earlier: list[Departure]) -> Headline:
    """Calm says what was checked; earlier departures are told, not hidden."""
    quiet = [departure for departure in earlier if not departure.held]
    if earlier and not quiet:
        text = _("Nothing else departs from the ledger.")
    elif quiet:
        text = ngettext(
            "Quiet now. %(count)d departure in the last 24 h.", "Quiet now. %(count)d departures in the last 24 h.", len(quiet)
        ) % {"count": len(quiet)}
    else:
        text = _("No departures in the last 24 h.")
    hint = _("a sensor does not report it")
    figures = (
        Figure(_("Sensors judging"), f"{watch.judging} / {watch.total}"),
        Figure(_("Packets seen"), "" if watch.received is None else units.number(watch.received), hint),
        Figure(_("Dropped by the capture"), "" if watch.dropped is None else units.number(watch.dropped), hint),
    )
    silent = _("Not heard: %(names)s.") % {"names": ", ".join(watch.silent)} if watch.silent else ""
    if silent or watch.idle or watch.behind:
        told = " ".join(part for part in (_late(watch), silent, _idle(watch)) if part)
        return Headline(Alarm.WATCH, told, reverse("console:sensors"), _("Open the sensors"), figures=figures, note=text)
    url, action = (reverse("console:traffic"), _("Look at them")) if quiet else ("", "")
    return Headline(Alarm.CALM, text, url, action, figures=figures)
