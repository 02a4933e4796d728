# The program with the web inside, in an image without a shell and without root. Build it with
#   docker build --tag onehop .
# and run it on an account on Azure Cosmos DB, or on a directory that is mounted at /data:
#   docker run --publish 8080:8080 --volume onehop:/data --env ONEHOP_ALLOW_HOSTS=blog.example onehop
#   docker run --publish 8080:8080 --volume demo:/data onehop serve --demo
# A container that stops needs 30 seconds: --stop-timeout 30. deploy/compose.yaml has Prometheus and Grafana beside it.

FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS web
WORKDIR /build/web
COPY web/package.json web/package-lock.json ./
RUN npm ci --no-fund --no-audit
COPY schema.graphql /build/schema.graphql
COPY web ./
RUN npm run build

FROM rust:1.95-bookworm@sha256:6258907abe69656e41cd992e0b705cdcfabcbbe3db374f92ed2d47121282d4a1 AS program
WORKDIR /build
# Cargo wants every target and every member that the manifest names.
COPY Cargo.toml Cargo.lock build.rs ./
COPY benches benches
COPY crates crates
COPY examples/helpdesk examples/helpdesk
COPY src src
COPY web/trusted-documents.json web/trusted-documents.json
COPY --from=web /build/web/dist web/dist
RUN cargo build --release --locked --bin onehop && mkdir /empty

FROM gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f
COPY --from=program /build/target/release/onehop /usr/local/bin/onehop
COPY --from=program --chown=nonroot:nonroot /empty /data
ENV ONEHOP_LISTEN=0.0.0.0:8080 ONEHOP_DATA=/data ONEHOP_LOG_FORMAT=json
EXPOSE 8080
VOLUME /data
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 CMD ["/usr/local/bin/onehop", "health"]
ENTRYPOINT ["/usr/local/bin/onehop"]
CMD ["serve", "--production"]
