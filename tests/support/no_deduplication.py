"""Settings of the self-test that must fail: nothing recognises a batch or a revision that it has seen."""

from policyhub.conf.settings.test import *  # noqa: F403

FLOWGUARD_DEDUPLICATION = False
