# docker build -t samovar-counter .                          the Counter example
# docker build -t samovar-dupes --build-arg PRODUCT=dupes .  another product of Package.swift; tickets has a journal in PostgreSQL

FROM swift:6.3-bookworm AS build
ARG PRODUCT=counter
# libpq is for programs with a journal in PostgreSQL.
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends libzmq3-dev libsqlite3-dev libssl-dev pkg-config \
        $([ "$PRODUCT" = tickets ] && echo libpq-dev) \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN swift build -c release --static-swift-stdlib --product "$PRODUCT" \
    && install -D "$(swift build -c release --static-swift-stdlib --show-bin-path)/$PRODUCT" "/product/$PRODUCT"

FROM debian:bookworm-slim
ARG PRODUCT=counter
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends libzmq5 libsqlite3-0 libssl3 $([ "$PRODUCT" = tickets ] && echo libpq5) \
    && rm -rf /var/lib/apt/lists/*
# All containers of one store run as the same user, the only one that may enter the folder of the sockets.
RUN useradd --system --uid 10001 samovar \
    && install -d -o samovar -m 0700 /var/lib/samovar /run/samovar
COPY --from=build /product/ /usr/local/bin/
COPY config/ /etc/samovar/
ENV PRODUCT=$PRODUCT SAMOVAR_RUNTIME_DIR=/run/samovar
USER samovar
WORKDIR /var/lib/samovar
VOLUME ["/var/lib/samovar", "/run/samovar"]
ENTRYPOINT ["/bin/sh", "-c", "exec \"$PRODUCT\" \"$@\"", "samovar"]
CMD ["up", "--config", "/etc/samovar/compose.yaml"]
