#!/usr/bin/env bash
# The reference as HTML: one archive for each module that programs import, with the articles and the pages of docs in that of
# Samovar. Called by `make docs`. A link that leads nowhere, in an article or a comment, is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-.build/docs}
if ! command -v docc >/dev/null; then
	echo "There is no docc on the PATH: it comes with the toolchain of Swift" >&2
	exit 69
fi
# Those of the Makefile, for the tests are built in the same folder.
read -ra flags <<<"--explicit-target-dependency-import-check error ${BUILD_FLAGS:-}"

for target in Samovar SamovarTesting; do swift build --target "$target" "${flags[@]}" -j "${JOBS:-2}" >&2; done
modules=$(swift build --show-bin-path "${flags[@]}")/Modules
triple=$(swift -print-target-info | sed -n 's/.*"triple": "\(.*\)".*/\1/p' | head -n 1)
includes=(-I "$modules")
# What the modules of C libraries are found by.
while IFS= read -r map; do includes+=(-I "$(dirname "$map")"); done < <(
	find "$PWD/Sources" .build/checkouts -path '*/Sources/*' -name module.modulemap)

rm -rf "$out"
mkdir -p "$out/symbols" "$out/Samovar.docc"

# graph MODULE OPTION…: the symbols of a module.
graph() {
	mkdir -p "$out/symbols/$1"
	swift symbolgraph-extract -module-name "$1" "${includes[@]}" -target "$triple" -minimum-access-level public \
		-skip-inherited-docs -output-dir "$out/symbols/$1" "${@:2}"
}

# Programs write `import Samovar`, so what it re-exports is documented as its own.
graph Samovar -experimental-allowed-reexported-modules=SamovarCore,SamovarText,SamovarWorker,SamovarHost,SamovarCommands,SamovarWire,SamovarPeers,SamovarStore,MessagePack
graph MessagePack
graph SamovarTesting

# The pages of docs become articles with a name in front, for a page must not have the name of a symbol.
links=()
for page in docs/*.md docs/coming-from/*.md; do
	name=$(basename "$page" .md)
	case "$page" in
		docs/coming-from/*) links+=(-e "s,\](\(coming-from/\)\{0\,1\}$name\.md\(#[^)]*\)\{0\,1\}),](doc:coming-from-$name),g") ;;
		*) links+=(-e "s,\](\(\.\./\)*\(docs/\)\{0\,1\}$name\.md\(#[^)]*\)\{0\,1\}),](doc:docs-$name),g") ;;
	esac
done
# Links to sources say what they say, without a link. Code is left alone.
links+=(-e '/^```/,/^```/!s,\[\([^]]*\)\]([^):]*),\1,g')
for page in docs/*.md; do sed "${links[@]}" "$page" >"$out/Samovar.docc/docs-$(basename "$page")"; done
for page in docs/coming-from/*.md; do sed "${links[@]}" "$page" >"$out/Samovar.docc/coming-from-$(basename "$page")"; done
for page in Sources/Samovar/Samovar.docc/*.md; do sed "${links[@]}" "$page" >"$out/Samovar.docc/$(basename "$page")"; done
{
	printf '\n### Coming from another design\n\n'
	for page in docs/coming-from/*.md; do echo "- <doc:coming-from-$(basename "$page" .md)>"; done
	printf '\n### How it works inside, and what it promises\n\n'
	for page in docs/*.md; do echo "- <doc:docs-$(basename "$page" .md)>"; done
} >>"$out/Samovar.docc/Samovar.md"

# archive MODULE [CATALOG]
archive() {
	docc convert "${@:2}" --additional-symbol-graph-dir "$out/symbols/$1" --fallback-display-name "$1" \
		--fallback-bundle-identifier "$1" --output-path "$out/$1.doccarchive" --warnings-as-errors
}

archive Samovar "$out/Samovar.docc"
archive MessagePack
archive SamovarTesting
rm -r "$out/symbols" "$out/Samovar.docc"
echo "To read it: python3 -m http.server --directory $out/Samovar.doccarchive, and then http://localhost:8000/documentation/samovar" >&2
