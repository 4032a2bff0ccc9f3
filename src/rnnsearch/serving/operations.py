"""For whoever runs the service: whether it lives, whether it can take work, what it has done."""

from __future__ import annotations

from fastapi import APIRouter, Response

from rnnsearch.serving.refusal import busy
from rnnsearch.serving.routes import json_response, shown
from rnnsearch.serving.service import Service
from rnnsearch.system.version import package_version


def operations(service: Service) -> APIRouter:
    router = APIRouter(tags=["operation"])

    @router.get("/health", summary="Whether the process answers", responses=shown({"status": "ok"}))
    async def health() -> Response:
        return json_response({"status": "ok", "version": package_version()})

    @router.get("/ready", summary="Whether it can take work now", responses=shown({"status": "ready", "queue": 0}))
    async def ready() -> Response:
        """503 while the models are loaded, when the queue is full, and when the service is ending."""
        if not service.queue.alive:
            raise busy("the models are not at work", 5)
        if len(service.queue) >= service.queue.capacity:
            raise busy("the queue is full", 2)
        return json_response({"status": "ready", "queue": len(service.queue)})

    @router.get("/metrics", summary="Counters and histograms, for Prometheus")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
