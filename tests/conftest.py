"""Settings of all tests."""

from __future__ import annotations

import signal

pytest_plugins = ["pytester"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it runs in the background so, and tests that press Ctrl-C on a child would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
