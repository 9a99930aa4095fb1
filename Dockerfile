# syntax=docker/dockerfile:1

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The registry and the dependencies' builds stay in the builder's caches, so only Hob itself is compiled again.
# Queries are checked against .sqlx/: no database is needed.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    SQLX_OFFLINE=true cargo build --profile dist --locked --features matrix --bin hob \
    && cp target/dist/hob /usr/local/bin/hob
# The images below have no shell to make a folder with.
RUN install --directory --mode=0700 /out/data

# With a shell and the usual programs, for the terminal tool, and for tools and MCP servers that are programs:
# `docker build --target with-shell`. docs/upgrade.md, "In a container", says what the other image lacks.
FROM debian:bookworm-slim AS with-shell
# Certificates for models and platforms; the distribution keeps their version current.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/hob /usr/local/bin/hob
COPY --from=build --chown=10001:10001 --chmod=0700 /out/data /data
USER 10001:10001
ENV HOB_HOME=/data HOME=/data
WORKDIR /data
VOLUME ["/data"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/local/bin/hob", "health"]
ENTRYPOINT ["/usr/local/bin/hob"]
CMD ["run"]

# Hob and what it is linked to, and nothing else: no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /usr/local/bin/hob /usr/local/bin/hob
COPY --from=build --chown=10001:10001 --chmod=0700 /out/data /data
USER 10001:10001
ENV HOB_HOME=/data HOME=/data
WORKDIR /data
VOLUME ["/data"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/local/bin/hob", "health"]
ENTRYPOINT ["/usr/local/bin/hob"]
CMD ["run"]
