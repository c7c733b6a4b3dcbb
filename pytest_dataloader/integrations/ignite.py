"""``DataLoaderMonitor().attach(trainer)``: what an engine of ignite waits for, among its metrics."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.diagnosis.monitoring import Monitor


class DataLoaderMonitor(Monitor):
    """Puts the figures of ``scalars`` into ``engine.state.metrics``, where loggers find them; warns of limits."""

    def attach(self, engine: Any, every_n_steps: int = 50) -> DataLoaderMonitor:
        """Watch the runs of an engine. To be attached before the loggers, which log what is there."""
        from ignite.engine import Events

        engine.add_event_handler(Events.STARTED, lambda _engine: self.__enter__())
        engine.add_event_handler(Events.ITERATION_COMPLETED(every=every_n_steps), self._note)
        engine.add_event_handler(Events.COMPLETED | Events.TERMINATE | Events.EXCEPTION_RAISED, self._finish)
        return self

    def _note(self, engine: Any) -> None:
        engine.state.metrics.update(self.scalars())

    def _finish(self, _engine: Any, *raised: BaseException) -> None:
        self.__exit__()
        if raised:  # a handler of exceptions takes their place
            raise raised[0]
