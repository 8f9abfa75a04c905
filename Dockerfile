# An image for the machines of a cluster (docs/guides/cluster.md): docker build -t ludus:0.1.0 .
# Another build of torch: --build-arg PIP_ARGS="--index-url ..."
FROM python:3.12-slim AS build
# Debian keeps the newest version of a package alone, so none is pinned.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
ARG PIP_ARGS=""
# KubeRay submits jobs to Ray's dashboard, which is in ray[default].
RUN python -m venv /opt/ludus && /opt/ludus/bin/pip install --no-cache-dir -c constraints.txt $PIP_ARGS ".[cluster]" "ray[default]"

FROM python:3.12-slim
# KubeRay's health probes need wget.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends wget && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --user-group --create-home ludus
COPY --from=build /opt/ludus /opt/ludus
ENV PATH=/opt/ludus/bin:$PATH
USER 1000:1000
WORKDIR /home/ludus
CMD ["ludus", "--help"]
