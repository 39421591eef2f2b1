# make help   says what there is. Needs GNU make 4, bash and Swift 6.3; the rest is installed if it is missing.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.DEFAULT_GOAL := help
.PHONY: help run test screenshots install scaffolds simulate planted mutants chaos bench benchmarks thresholds fuzz sanitize build docs format lint clean system postgresql python chromium promtool swift

DIR ?= /usr/share
WORKERS ?= 2
MINIMUM ?= 1
FRESH ?=
PREFIX ?= /usr/local
DESTDIR ?=
DECODERS ?=
SEED ?=
chaos: SECONDS = 600
fuzz: SECONDS = 60
# One set of flags for all that builds tests: another set would build everything again. The check makes an import of a module
# that a target does not name in Package.swift an error. BUILD_FLAGS are those of who builds once and debugs nothing, as .ci/run.
BUILD_FLAGS ?=
TEST_FLAGS := --explicit-target-dependency-import-check error $(BUILD_FLAGS)
# The simulator runs optimised, for it has much to do, and with assertions, for it shall find something.
SIMULATE_FLAGS := -c release -Xswiftc -assert-config -Xswiftc Debug --product simulator $(BUILD_FLAGS)
SEEDS ?= 200
MINUTES ?= 10
FRESH_SEEDS ?= 0
PROMTOOL := .build/promtool
mutants: COUNT = 60
SOURCES := Package.swift Sources Tests Examples Benchmarks/Package.swift Benchmarks/Sources Mutants/Package.swift Mutants/Sources Mutants/Tests Mutants/Instrumented

# A compiler process may need 2 GB; with less memory, fewer of them run at once.
JOBS := $(shell cores=$$(getconf _NPROCESSORS_ONLN); \
	free=$$(awk '/MemAvailable/ { print int($$2 / 2000000) }' /proc/meminfo 2>/dev/null || true); \
	free=$${free:-$$cores}; [ "$$free" -ge 1 ] || free=1; \
	if [ "$$free" -lt "$$cores" ]; then echo "$$free"; else echo "$$cores"; fi)

# Taken as they were given: what make does with a dollar sign is nothing for the name of a folder.
export DUPES_DIR := $(value DIR)
export DUPES_FRESH := $(value FRESH)

help: ## Says what there is
	awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: system swift ## Finds duplicate files: DIR=/usr/share WORKERS=2 MINIMUM=1 (bytes) FRESH=1 (search anew)
	root=$$(cd -P -- "$$DUPES_DIR" && pwd -P)
	# The data folder is named after the searched one. Where that name would not be unique, a checksum makes it so.
	name=$${root//[!A-Za-z0-9._-]/-}; name=$${name#-}; name=$${name:-root}
	case "$$root" in
		*[!A-Za-z0-9._/]* | /root) name=$${name:0:60}-$$(printf %s "$$root" | cksum | cut -d ' ' -f 1) ;;
		*) [ $${#name} -le 100 ] || name=$${name:0:60}-$$(printf %s "$$root" | cksum | cut -d ' ' -f 1) ;;
	esac
	# A path that is no text, or holds control characters, goes as its bytes, so that any path can be searched.
	if printf %s "$$root" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1 &&
		[ "$$(printf %s "$$root" | LC_ALL=C tr -d -c '\0-\37\177' | wc -c)" -eq 0 ]; then
		json="\"$$(printf %s "$$root" | sed 's/[\\"]/\\&/g')\""
	else
		json="{\"bytes\":\"$$(printf %s "$$root" | base64 | tr -d '\n')\"}"
	fi
	swift build -c release --product dupes -j $(JOBS) >&2
	dupes=$$(swift build -c release --show-bin-path)/dupes
	"$$dupes" up --until-idle --workers "$(WORKERS)" --data ".samovar/dupes-$$name" $${DUPES_FRESH:+--fresh} \
		--seed "{\"root\":$$json,\"minimumSize\":$(MINIMUM)}"

# Examples/Uptime is a package of its own and comes first, so that the last line is the closing one of the main tests. It is built in the same
# folder, and as these are: what both compile, Samovar and most of what it needs, is compiled once.
UPTIME_FLAGS := --package-path Examples/Uptime --scratch-path .build $(BUILD_FLAGS)

# Tests that compute come before those of processes, so that what has a deadline does not wait behind what only takes long. Of processes, no
# more tests run at a time than two for each core: a hundred systems at once measure the machine and not Samovar.
COMPUTING := ^(MessagePack|Samovar(Core|Wire|Peers|Store|Simulator|Load|LoadTest|Terminal|Testing|Conformance)|SQLiteJournal|Journal|SHA2|Fuzz)Tests\.

# What is measured beside a yardstick, and within bounds of time, has nothing beside it.
MEASURING := ^ChaosTests\.(Flood|Failover|Distance)Tests/

test: system postgresql swift python chromium promtool ## Builds and runs all tests
	PATH="$$PWD/.build/python/bin:$$PWD/$(PROMTOOL):$$PATH"
	swift build --build-tests -j $(JOBS) $(UPTIME_FLAGS)
	swift test --skip-build $(UPTIME_FLAGS)
	swift build --build-tests -j $(JOBS) $(TEST_FLAGS)
	swift test --skip-build $(TEST_FLAGS) --filter '$(COMPUTING)'
	for suite in Flood Failover Distance; do swift test --skip-build $(TEST_FLAGS) --filter "^ChaosTests\.$${suite}Tests/"; done
	# With the stores that were just built.
	if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
		PYTHONPATH=clients/python/src python3 -m unittest discover -s clients/python/tests
	else
		echo "The tests of clients/python are left out: they need Python 3.11" >&2
	fi
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$$((2 * $$(getconf _NPROCESSORS_ONLN))) \
		swift test --skip-build $(TEST_FLAGS) --skip '$(COMPUTING)' --skip '$(MEASURING)'

screenshots: system swift chromium ## Takes the pictures of the page in docs
	swift build --build-tests $(TEST_FLAGS)
	SCREENSHOTS="$$PWD/docs" swift test --skip-build $(TEST_FLAGS) --filter '^WebTests\.ScreenshotTests/'

simulate: system swift ## Simulates whole systems in virtual time, with faults: SEEDS=200 MINUTES=10 FRESH_SEEDS=0
	swift build $(SIMULATE_FLAGS) --scratch-path .build-simulate -j $(JOBS) >&2
	simulator=$$(swift build $(SIMULATE_FLAGS) --scratch-path .build-simulate --show-bin-path)/simulator
	"$$simulator" --exhaustive
	"$$simulator" --seeds "$(SEEDS)" --minutes "$(MINUTES)"
	if [ "$(FRESH_SEEDS)" -gt 0 ]; then "$$simulator" --fresh "$(FRESH_SEEDS)" --minutes "$(MINUTES)"; fi

# Both work on copies of the sources in .build-mutants, each built once.
MUTANTS := swift build --package-path Mutants --scratch-path .build-mutants/tool -j $(JOBS)

planted: swift ## Plants bugs in a copy of the machines, one at a time, and demands that the simulator finds each
	$(MUTANTS) --product planted >&2
	.build-mutants/tool/debug/planted --jobs $(JOBS)

mutants: swift ## Changes a copy of the machines, one place at a time, and asks who notices: COUNT=60 SEED= (of an earlier run)
	$(MUTANTS) --product mutants >&2
	.build-mutants/tool/debug/mutants --count "$(COUNT)" $(if $(SEED),--seed "$(SEED)") --jobs $(JOBS)

install: system swift ## Installs the tool `samovar`, with completions, a manual page and what `samovar new` copies: PREFIX=/usr/local DESTDIR=
	swift build -c release --product samovar -j $(JOBS) >&2
	bin=$$(swift build -c release --show-bin-path)/samovar
	prefix="$(DESTDIR)$(PREFIX)"
	share="$$prefix/share"
	install -D -s -m 0755 "$$bin" "$$prefix/bin/samovar"
	mkdir -p "$$share/bash-completion/completions" "$$share/zsh/site-functions" "$$share/fish/vendor_completions.d" "$$share/man/man1"
	"$$bin" --generate-manual >"$$share/man/man1/samovar.1"
	"$$bin" --generate-completion-script bash >"$$share/bash-completion/completions/samovar"
	"$$bin" --generate-completion-script zsh >"$$share/zsh/site-functions/_samovar"
	"$$bin" --generate-completion-script fish >"$$share/fish/vendor_completions.d/samovar.fish"
	rm -rf "$$share/samovar"
	mkdir -p "$$share/samovar"
	cp -R Package.swift LICENSE Sources "$$share/samovar/"

scaffolds: system swift ## Writes, builds and tests every kind of package that `samovar new` makes; takes long
	swift build --product samovar -j $(JOBS) $(TEST_FLAGS)
	samovar=$$(swift build --show-bin-path $(TEST_FLAGS))/samovar
	folder=$$(mktemp -d)
	trap 'rm -rf "$$folder"' EXIT
	choices=(--split --distributed --input-events --output-events --panel)
	for number in $$(seq 0 $$(((1 << $${#choices[@]}) - 1))); do
		flags=()
		for bit in "$${!choices[@]}"; do
			if ((number >> bit & 1)); then flags+=("$${choices[bit]}"); fi
		done
		echo "samovar new kind-$$number $${flags[*]}" >&2
		"$$samovar" new "kind-$$number" --path . --in "$$folder" "$${flags[@]}" >/dev/null 2>&1
		# One folder for what all of them build: Samovar itself is built once.
		swift test -j $(JOBS) --package-path "$$folder/kind-$$number" --scratch-path "$${SCAFFOLDS:-.build-scaffolds}"
	done

chaos: system postgresql swift ## Kills, stops and cuts off processes for an hour and a half, and judges: SECONDS=600 (of random faults) SEED= (of an earlier run)
	swift build --build-tests -j $(JOBS) $(TEST_FLAGS)
	export SAMOVAR_CHAOS_SECONDS="$(SECONDS)" SAMOVAR_CHAOS_SEED="$(SEED)"
	# Both measure, and have bounds of time: nothing is beside them, as in `make test`.
	for suite in Flood Keyed; do swift test --skip-build $(TEST_FLAGS) --filter "^ChaosTests\.$${suite}Tests/"; done
	swift test --skip-build $(TEST_FLAGS) \
		--filter '^(ChaosTests\.(Torment|Crash|Pause|Proxy|Resource|Network|Machine|Failover|PrimaryFailover|DatabaseAway)Tests|PostgreSQLJournalTests\.LostAnswerTests)/'

bench: system postgresql swift ## Measures the targets beside yardsticks of the same run: PARTS="round-trips idle …" ROUNDS=3; see docs/performance.md
	JOBS=$(JOBS) PARTS="$(PARTS)" ROUNDS="$(ROUNDS)" Benchmarks/bench.sh

OPERATIONS := swift package --package-path Benchmarks --scratch-path .build-bench --disable-build-manifest-caching \
	--disable-sandbox --allow-writing-to-package-directory benchmark

benchmarks: system swift ## Counts the allocations of single operations, and fails if they are not those of Benchmarks/Thresholds
	$(OPERATIONS) thresholds check --target Operations --no-progress --path "$$PWD/Benchmarks/Thresholds"

thresholds: system swift ## Writes down the allocations that make benchmarks demands, as they are now
	# What is written has the times, too, which are no demand, and other names than those that are read.
	folder=$$(mktemp -d)
	trap 'rm -rf "$$folder"' EXIT
	$(OPERATIONS) thresholds update --target Operations --no-progress --path "$$folder"
	for file in "$$folder"/*.json; do
		name=$${file##*/}
		sed -n 's/.*"allocations" : \([0-9]*\).*/{\n  "allocations" : \1\n}/p' "$$file" >"Benchmarks/Thresholds/$${name//_/ }"
	done

fuzz: system swift ## Lets libFuzzer try every decoder: SECONDS=60 (each) DECODERS="frames json …"
	resources=$$(swift -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
	runtimes=("$${resources%/*}"/clang/*/lib/linux/libclang_rt.fuzzer_no_main-"$$(uname -m)".a)
	if [ ! -f "$${runtimes[0]}" ]; then
		echo "This toolchain has no libFuzzer; make test tries the decoders with mutations of its own" >&2
		exit 69
	fi
	export SAMOVAR_FUZZER="$${runtimes[0]}"
	swift build -c release --scratch-path .build-fuzz --product FuzzDecoders -j $(JOBS) >&2
	fuzz=$$(swift build -c release --scratch-path .build-fuzz --show-bin-path)/FuzzDecoders
	# An input that ends the process is left in .build-fuzz/found. Small inputs: what they reach, larger ones reach, too.
	mkdir -p .build-fuzz/found
	decoders="$(DECODERS)"
	for decoder in $${decoders:-$$("$$fuzz")}; do
		echo "== $$decoder" >&2
		mkdir -p ".build-fuzz/corpus/$$decoder"
		"$$fuzz" "$$decoder" ".build-fuzz/corpus/$$decoder" -max_len=512 -max_total_time=$(SECONDS) \
			-malloc_limit_mb=64 -rss_limit_mb=1024 -timeout=5 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=".build-fuzz/found/$$decoder-"
	done

# The tests of what has threads or touches memory by itself, each with a build of its own, since everything is instrumented.
# libzmq is not, so the thread sanitizer cannot see how it synchronises; what is passed over for that is named in the file.
SANITIZED := ZeroMQTests|SHA2Tests|JournalTests|SQLiteJournalTests|MessagePackTests|SamovarWireTests|SamovarPeersTests|SamovarStoreTests|FuzzTests|CommandTests
sanitize: system postgresql swift python ## Runs tests under the thread and the address sanitizer
	export PATH="$$PWD/.build/python/bin:$$PATH"
	export TSAN_OPTIONS="suppressions=$$PWD/Tests/thread-sanitizer.txt halt_on_error=0 exitcode=66 $${TSAN_OPTIONS:-}"
	export ASAN_OPTIONS="detect_leaks=0 $${ASAN_OPTIONS:-}"
	for sanitizer in thread address; do
		swift build --build-tests -j $(JOBS) $(TEST_FLAGS) --sanitize $$sanitizer --scratch-path .build-$$sanitizer
		swift test --skip-build $(TEST_FLAGS) --sanitize $$sanitizer --scratch-path .build-$$sanitizer --filter '$(SANITIZED)'
	done

build: system postgresql swift ## Builds all programs in release, without running them
	swift build -c release -j $(JOBS)

docs: system swift ## Writes the reference of the modules, with articles, as HTML to .build/docs
	JOBS=$(JOBS) BUILD_FLAGS="$(BUILD_FLAGS)" docs/reference.sh

format: swift ## Formats the sources
	swift format --in-place --recursive --parallel $(SOURCES)

lint: swift ## Checks the form of the sources
	swift format lint --strict --recursive --parallel $(SOURCES)

clean: ## Removes what was built; data folders in .samovar stay
	rm -rf .build .build-* Benchmarks/.build

swift:
	if ! command -v swift >/dev/null; then
		echo "There is no swift on the PATH: Samovar needs Swift 6.3 or newer, see https://www.swift.org/install" >&2
		exit 69
	fi

# What can be asked for without root; only what is missing is installed.
define install
without_cluster() {
	local file=/etc/postgresql-common/createcluster.conf
	[ -e "$$file" ] || ! command -v apt-get >/dev/null && return
	if [ "$$(id -u)" -eq 0 ]; then sh -c "mkdir -p $${file%/*} && echo 'create_main_cluster = false' >$$file"
	elif sudo -n true 2>/dev/null; then sudo -n sh -c "mkdir -p $${file%/*} && echo 'create_main_cluster = false' >$$file"; fi
}
install_packages() {
	if ! command -v apt-get >/dev/null; then
		echo "Please install $$*: this system has no apt-get, so it cannot be done for you" >&2
		return 69
	fi
	local sudo=
	if [ "$$(id -u)" -ne 0 ]; then
		if ! sudo -n true 2>/dev/null; then
			echo "Please install $$*: it needs root, or sudo without a password" >&2
			return 69
		fi
		sudo="sudo -n"
	fi
	echo "Installing $$*" >&2
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 update >&2
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "$$@" </dev/null >/dev/null
}
endef

system:
	$(install)
	missing=()
	command -v pkg-config >/dev/null || missing+=(pkg-config)
	pkg-config --exists 'libzmq >= 4.3' 2>/dev/null || missing+=(libzmq3-dev)
	pkg-config --exists sqlite3 2>/dev/null || missing+=(libsqlite3-dev)
	pkg-config --exists libcrypto 2>/dev/null || missing+=(libssl-dev)
	if [ $${#missing[@]} -gt 0 ]; then install_packages "$${missing[@]}"; fi

# For the journal in PostgreSQL: its client library, which nothing else needs, and a server that tests start themselves. Debian's package would
# start another one, unless it is told not to.
postgresql:
	$(install)
	missing=()
	[ -e /usr/include/postgresql/libpq-fe.h ] || [ -e /usr/include/libpq-fe.h ] || pkg-config --exists libpq 2>/dev/null || missing+=(libpq-dev)
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
	if [ $${#missing[@]} -gt 0 ]; then without_cluster; install_packages "$${missing[@]}"; fi

# The browser before which the page is tested.
chromium:
	$(install)
	for name in chromium chromium-browser google-chrome; do if command -v "$$name" >/dev/null; then exit 0; fi; done
	install_packages chromium

# The checker of metrics that comes with Prometheus, out of Debian's package: the server that the package would start is not wanted.
promtool:
	if command -v promtool >/dev/null || [ -x $(PROMTOOL)/promtool ] || ! command -v apt-get >/dev/null; then exit 0; fi
	$(install)
	folder=$$(mktemp -d)
	trap 'rm -rf "$$folder"' EXIT
	download() { (cd "$$folder" && apt-get -qq download prometheus 2>/dev/null); }
	download || { install_packages && download; }
	mkdir -p $(PROMTOOL)
	dpkg-deb --fsys-tarfile "$$folder"/prometheus_*.deb | tar -x -C $(PROMTOOL) --strip-components=3 ./usr/bin/promtool

# Some tests are in Python, or talk to a worker that is. A virtual environment keeps the packages out of the system; where none can be made,
# the system's own packages do.
python:
	$(install)
	usable() { "$$1" -c 'import msgpack, zmq' 2>/dev/null; }
	venv=.build/python
	usable "$$venv/bin/python3" && exit 0
	rm -rf "$$venv"
	command -v python3 >/dev/null && usable python3 && exit 0
	if ! command -v python3 >/dev/null; then install_packages python3 python3-msgpack python3-zmq; fi
	usable python3 && exit 0
	mkdir -p .build
	if python3 -m venv "$$venv" >/dev/null 2>&1 &&
		"$$venv/bin/python3" -m pip install --quiet --disable-pip-version-check msgpack pyzmq 'setuptools>=70.1' >&2; then
		exit 0
	fi
	rm -rf "$$venv"
	install_packages python3 python3-msgpack python3-zmq
	usable python3 || usable /usr/bin/python3
	if ! usable python3; then
		mkdir -p "$$venv/bin"
		ln -s /usr/bin/python3 "$$venv/bin/python3"
	fi
