# syntax=docker/dockerfile:1

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The registry and the dependencies' builds stay in the builder's caches, so only Hob itself is compiled again.
# Queries are checked against .sqlx/: no database is needed.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    SQLX_OFFLINE=true cargo build --release --locked --bin hob \
    && cp target/release/hob /usr/local/bin/hob

FROM debian:bookworm-slim
# Certificates for models and platforms; the distribution keeps their version current.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /data --no-create-home hob \
    && install --directory --owner=hob --group=hob --mode=0700 /data
COPY --from=build /usr/local/bin/hob /usr/local/bin/hob
USER 10001:10001
ENV HOB_HOME=/data
WORKDIR /data
VOLUME ["/data"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/hob"]
CMD ["run"]
