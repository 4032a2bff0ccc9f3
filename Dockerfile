# The service in an image: CPU only, no root, no compiler, nothing written but to /tmp. How to build and run it: docs/how-to/serving.md
FROM python:3.11-slim AS build
# PyTorch's CPU builds; with an empty value pip takes the build for NVIDIA GPUs (5.6 GB instead of 1 GB).
ARG TORCH_INDEX="https://download.pytorch.org/whl/cpu"
WORKDIR /source
RUN python -m venv /opt/rnnsearch
ENV PATH="/opt/rnnsearch/bin:$PATH"
COPY constraints.txt ./
RUN pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[serve]"

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin rnnsearch
COPY --from=build /opt/rnnsearch /opt/rnnsearch
ENV PATH="/opt/rnnsearch/bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /models
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# 0.0.0.0 is the container's own address; which one of the host's leads to it is said where it is run.
ENTRYPOINT ["rnnsearch", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models/run"]
