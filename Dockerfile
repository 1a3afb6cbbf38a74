# Build: docker build -t rookery .
# Run:   docker run -p 8080:8080 -v rookery-data:/data \
#          -e ROOKERY__SERVER__PUBLIC_URL=https://rookery.example.org \
#          -e ROOKERY__APPS_DOMAIN=rookery-apps.example \
#          -e ROOKERY__SERVER__TRUSTED_PROXIES=172.17.0.0/16 \
#          -e SMTP_URL='smtp://mail.example.org?tls=required' \
#          -e ROOKERY__MAIL__FROM='Rookery <rookery@example.org>' rookery
#        behind a proxy that ends TLS: the trusted ones are its addresses, as the container sees them.
#        docs/PROXY.md says how to set that proxy, docs/OPERATING.md has the rest.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# Without debug information, which is four fifths of the file.
RUN CARGO_PROFILE_RELEASE_STRIP=debuginfo cargo build --release --locked --bin rookery

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin rookery \
    && install -d -o rookery -g rookery -m 0700 /data
COPY --from=build /src/target/release/rookery /usr/local/bin/rookery
USER rookery
WORKDIR /data
VOLUME /data
# The operator's listener stays on the container's loopback.
ENV ROOKERY__DATA_DIR=/data \
    ROOKERY__SERVER__LISTEN=0.0.0.0:8080 \
    ROOKERY__LOG__FORMAT=json
EXPOSE 8080
# SIGTERM drains; leave it more time than server.drain_timeout_s.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/ready"]
# The first process of a container waits for what others leave behind, such as a Chromium's helpers.
ENTRYPOINT ["tini", "--", "rookery"]
CMD ["serve"]
