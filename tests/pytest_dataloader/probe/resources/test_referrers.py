"""Looking for who keeps batches keeps nothing itself."""

from __future__ import annotations

import gc
import types

from pytest_dataloader.probe.resources import referrers


def test_frames_that_were_looked_at_are_let_go_without_the_collector() -> None:
    """Or what they hold, the loader among it, outlives the measuring wherever its end was frozen."""
    gc.collect()
    gc.disable()
    try:
        referrers.referrers({})
        kept = [each for each in gc.get_objects() if isinstance(each, types.FrameType)]
    finally:
        gc.enable()
    ours = [frame.f_code.co_qualname for frame in kept if frame.f_code.co_filename == referrers.__file__]
    assert ours == []
