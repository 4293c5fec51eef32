"""Settings shared by every way of running. What differs lives in embedded, production and test."""

from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

# Makes our Celery application the current one in every process that loads settings (web, worker, command, test):
# policyhub.dispatch sends by name and may not import the composition root.
from policyhub.conf import celery as celery
from policyhub.conf import environment

ROOT = Path(__file__).resolve().parents[3]

INSTALLED_APPS = [
    "policyhub",
    "flowguard",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
MIDDLEWARE = [
    "policyhub.conf.middleware.every_answer",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "policyhub.conf.urls"
ASGI_APPLICATION = "policyhub.conf.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "console:login"
LOGIN_REDIRECT_URL = "console:home"
LOGOUT_REDIRECT_URL = "console:login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("简体中文"))]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "PolicyHub",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",  # our own copy: the page loads nothing from elsewhere
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "ChangeState": "policyhub.models.Change.State",
        "SweepState": "policyhub.models.Sweep.State",
        "HostKeyState": "policyhub.models.HostKey.State",
        "GuardState": "flowguard.models.Guard.State",
        "EnforcementState": "flowguard.models.Enforcement.State",
    },
}

LOCALE_PATHS: list[str] = []
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "policyhub_session"
SESSION_COOKIE_AGE = 12 * 3600
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "policyhub_csrf"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
# A sensor's batch is checked against its own limit while it is read; forms and JSON of people stay below this.
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
POLICYHUB_KEEP_COUNTERS = environment.days("POLICYHUB_KEEP_COUNTERS_DAYS", 30)  # readings of queues, each some 10 kB
FLOWGUARD_DEDUPLICATION = True  # only the self-test of the soak turns it off, to prove that the soak would notice


def secure_transport(tls: bool) -> dict[str, Any]:
    """Settings that only hold where the browser speaks TLS to us or to our proxy."""
    return {
        "SESSION_COOKIE_SECURE": tls,
        "CSRF_COOKIE_SECURE": tls,
        "SECURE_SSL_REDIRECT": tls,
        "SECURE_HSTS_SECONDS": 31_536_000 if tls else 0,
        "SECURE_HSTS_INCLUDE_SUBDOMAINS": False,  # the host's neighbours are not ours to decide about
        "SECURE_REDIRECT_EXEMPT": [r"^healthz$", r"^readyz$"],  # probes of a container runtime speak plain HTTP
    }
