# The server alone: docker build -t waypost . && docker run -p 8080:8080 -v waypost:/var/lib/waypost waypost
# Linted on every change, and not run by any check: none has a container engine.

# Has a C compiler, for SQLite and ring.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin waypost && cp target/release/waypost /waypost

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/waypost --create-home --shell /usr/sbin/nologin waypost
COPY --from=build /waypost /usr/local/bin/waypost
USER 10001
WORKDIR /var/lib/waypost
VOLUME /var/lib/waypost
ENV WAYPOST_LISTEN=0.0.0.0:8080 WAYPOST_DATA_DIR=/var/lib/waypost
EXPOSE 8080
# Time to commit what is acknowledged next and to tell the sockets.
STOPSIGNAL SIGTERM
# Whether the process lives, and not whether it is ready: what restarts the unhealthy must not end a server that waits for its store.
# The image has no HTTP client; bash can open a socket.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["waypost"]
CMD ["serve"]
