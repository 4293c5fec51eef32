"""Addresses of the traffic pages; the composition root puts them into the console's namespace."""

from django.urls import path

from flowguard.console.views import enforcements, pages

urlpatterns = [
    path("traffic/", pages.traffic, name="traffic"),
    path("traffic/<int:pk>/", pages.verdict, name="traffic-detail"),
    path("identities/", pages.identities, name="identities"),
    path("identities/upload/", pages.upload, name="identities-upload"),
    path("guards/", pages.guards, name="guards"),
    path("guards/<int:pk>/", pages.guard, name="guards-detail"),
    path("enforcements/", enforcements.index, name="enforcements"),
    path("enforcements/<int:pk>/", enforcements.detail, name="enforcements-detail"),
    path("enforcements/<int:pk>/withdraw/", enforcements.withdraw, name="enforcements-withdraw"),
    path("sensors/", pages.sensors, name="sensors"),
]
