/// What takes a written package to other machines.
extension PackageTemplate {
    var check: String {
        """
        #!/usr/bin/env bash
        # The whole check, for a clean machine that has Swift 6.3: installs the libraries that are missing, builds, and runs the tests.
        set -euo pipefail
        cd "$(dirname "${BASH_SOURCE[0]}")/.."
        if ! pkg-config --exists 'libzmq >= 4.3' sqlite3 libcrypto; then
            root=() && if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
            "${root[@]}" apt-get -qq update
            "${root[@]}" apt-get -qq install -y libzmq3-dev libsqlite3-dev libssl-dev pkg-config
        fi
        swift test

        """
    }

    var unit: String {
        """
        # \(name.package) as a service of one machine, run as the user \(name.user):
        #
        #   swift build -c release --static-swift-stdlib --product \(name.package)
        #   useradd --system --no-create-home \(name.user)
        #   install -D .build/release/\(name.package) /opt/\(name.package)/\(name.package)
        #   install -m 0644 config/\(name.package).service /etc/systemd/system/
        #   systemctl enable --now \(name.package)

        [Unit]
        Description=\(name.package), a store and its workers
        After=time-sync.target
        # However often it ends, it is started again: what makes `update` trap is given up after three deaths.
        StartLimitIntervalSec=0

        [Service]
        Type=exec
        User=\(name.user)
        # The journal and the sockets: only this user may enter.
        StateDirectory=\(name.package)
        StateDirectoryMode=0700
        RuntimeDirectory=\(name.package)
        RuntimeDirectoryMode=0700
        Environment=SAMOVAR_RUNTIME_DIR=/run/\(name.package) SAMOVAR_DATA=/var/lib/\(name.package)/data
        ExecStart=/opt/\(name.package)/\(name.package) up --workers \(choices.distributed ? 2 : 0)
        # `up` tells its children to drain, and ends them after some seconds.
        TimeoutStopSec=30
        # Only `up` is told to end, and ends its children: it would start a store again that ended by itself.
        KillMode=mixed
        Restart=on-failure
        RestartSec=1
        # Another start cannot help: a wrong command line, damaged data, a program that does not survive its journal, a setting or a
        # version that does not fit.
        RestartPreventExitStatus=64 65 70 77 78

        [Install]
        WantedBy=multi-user.target

        """
    }

    var dockerfile: String {
        """
        # docker build -t \(name.package) . && docker run -v \(name.package):/var/lib/\(name.package) \(name.package)
        FROM swift:6.3-bookworm AS build
        RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends libzmq3-dev libsqlite3-dev libssl-dev pkg-config
        WORKDIR /source
        COPY . .
        RUN swift build -c release --static-swift-stdlib --product \(name.package) \\
            && install -D -s "$(swift build -c release --static-swift-stdlib --show-bin-path)/\(name.package)" /product/\(name.package)

        FROM debian:bookworm-slim
        RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends libzmq5 libsqlite3-0 libssl3 \\
            && rm -rf /var/lib/apt/lists/* \\
            && useradd --system --uid 10001 samovar \\
            && install -d -o samovar -m 0700 /var/lib/\(name.package) /run/\(name.package)
        COPY --from=build /product/ /usr/local/bin/
        ENV SAMOVAR_RUNTIME_DIR=/run/\(name.package) SAMOVAR_DATA=/var/lib/\(name.package)/data
        USER samovar
        VOLUME ["/var/lib/\(name.package)"]
        ENTRYPOINT ["\(name.package)"]
        CMD ["up", "--workers", "\(choices.distributed ? 2 : 0)"]

        """
    }
}
