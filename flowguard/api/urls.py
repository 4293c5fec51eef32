"""Addresses of the traffic side below /api/v1/."""

from django.urls import path

from flowguard.api.ingest import BatchesView, BundleView

urlpatterns = [
    path("sensors/<slug:sensor>/batches", BatchesView.as_view(), name="sensor-batches"),
    path("sensors/<slug:sensor>/bundle", BundleView.as_view(), name="sensor-bundle"),
]
