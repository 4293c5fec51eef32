"""Addresses of the traffic pages; the composition root puts them into the console's namespace."""

from django.urls import path

from flowguard.console.views import enforcements, guards, pages

urlpatterns = [
    path("traffic/", pages.traffic, name="traffic"),
    path("traffic/<int:pk>/", pages.verdict, name="traffic-detail"),
    path("identities/", pages.identities, name="identities"),
    path("identities/upload/", pages.upload, name="identities-upload"),
    path("guards/", guards.index, name="guards"),
    path("guards/<int:pk>/", guards.detail, name="guards-detail"),
    path("devices/<int:pk>/guard/", guards.propose, name="guards-propose"),
    path("enforcements/", enforcements.index, name="enforcements"),
    path("enforcements/<int:pk>/", enforcements.detail, name="enforcements-detail"),
    path("enforcements/<int:pk>/withdraw/", enforcements.withdraw, name="enforcements-withdraw"),
    path("sensors/", pages.sensors, name="sensors"),
    path("sensors/<int:pk>/", pages.sensor, name="sensors-detail"),
]
