import SamovarCore

extension Dupes {
    struct State: Portable {
        let seed: Seed
        var phase = Phase.listing
        var counts = Counts()
        /// The result, once the phase is `done`: what frees most comes first.
        var groups: [Group] = []
        /// In the order of their paths once the phase is `done`.
        var problems: [Problem] = []
        /// The tables of a search that is under way; empty once the phase is `done`.
        var search: Search

        init(seed: Seed) {
            self.seed = seed
            search = Search(root: seed.root)
            counts.directories = 1
        }
    }

    enum Phase: String, Portable {
        case listing, hashing, done
    }

    struct Counts: Portable {
        var directories = 0
        /// Files of at least the minimum size, each once.
        var files = 0
        var smallFiles = 0
        /// Further names of files that were counted under another name.
        var hardLinks = 0
        var hashedFiles = 0
        var hashedBytes = 0
        var groups = 0
        /// What deleting all files but one of each group would free.
        var reclaimableBytes = 0
    }

    /// Files with the same content.
    struct Group: Portable {
        let sha256: String
        let size: Int
        /// One path for each file, sorted; of a file with several hard links the smallest.
        let paths: [Path]
    }
}

extension Dupes.State {
    /// Orders whatever may be ordered now, and ends the search when nothing is left to wait for.
    mutating func proceed() -> Command<Dupes> {
        guard phase != .done else { return .none }
        var commands: [Command<Dupes>] = []
        while let (number, order) = search.nextOrder() {
            commands.append(.run(effect(number, order), retry: .times(3)))
        }
        if search.open.isEmpty {
            finish()
        } else if search.isListed {
            phase = .hashing
        }
        return .batch(commands)
    }

    private func effect(_ number: Int, _ order: Search.Order) -> Dupes.Effect {
        switch order {
        case .list(let directories, let after):
            return .list(
                order: number, directories: PathList(search.directories[directories]), after: after,
                minimumSize: seed.minimumSize)
        case .hash(let candidates):
            let files = search.files.candidates[candidates]
            return .hash(
                order: number, files: PathList(files.lazy.map { search.path(of: $0) }),
                sizes: files.map { search.files.files[$0].size })
        }
    }

    mutating func take(_ listing: Listing, of number: Int) {
        guard case .list(let directories, _)? = search.open[number] else { return }
        let listed = directories.prefix(listing.directories)
        var subdirectories = listing.subdirectories.makeIterator()
        var names = listing.files.makeIterator()
        var column = 0
        for (position, directory) in listed.enumerated() {
            for _ in 0..<listing.subdirectoryCounts[position] {
                guard let name = subdirectories.next() else { break }
                search.directories.append(search.directories[directory].appending(name))
                counts.directories += 1
            }
            for _ in 0..<listing.fileCounts[position] {
                guard let name = names.next() else { break }
                let identity = FileIdentity(device: listing.devices[column], inode: listing.inodes[column])
                add(FileTable.File(identity: identity, size: listing.sizes[column], directory: directory, name: name))
                column += 1
            }
        }
        counts.smallFiles = counts.smallFiles.plus(clamped: listing.smallFiles)
        problems += listing.problems
        let finished = listing.resumeAfter == nil ? listed.count : max(0, listed.count - 1)
        search.close(number, finished: finished, resumeAfter: listing.resumeAfter)
    }

    private mutating func add(_ file: FileTable.File) {
        guard let known = search.files.place(of: file.identity) else {
            search.files.add(file)
            counts.files += 1
            return
        }
        // The smallest of a file's paths stands for it, whichever came first.
        let path = search.directories[file.directory].appending(file.name)
        let knownPath = search.path(of: known)
        guard path != knownPath else { return }
        counts.hardLinks += 1
        if path < knownPath { search.files.rename(known, directory: file.directory, name: file.name) }
    }

    mutating func take(_ hashes: Hashes, of number: Int) {
        guard case .hash(let candidates)? = search.open[number] else { return }
        guard hashes.fits(candidates.count) else {
            return giveUp(number, because: "the answer of the worker does not fit its order")
        }
        var digests = hashes.digests[...]
        var failures = hashes.failures[...]
        for (index, file) in search.files.candidates[candidates].enumerated() {
            if let failure = failures.first, failure.index == index {
                failures.removeFirst()
                problems.append(Problem(path: search.path(of: file), reason: failure.reason))
            } else {
                add(file, digest: Digest(digests.prefix(Digest.count)))
                digests = digests.dropFirst(Digest.count)
            }
        }
        search.close(number)
    }

    private mutating func add(_ file: Int, digest: Digest) {
        let size = search.files.files[file].size
        counts.hashedFiles += 1
        counts.hashedBytes = counts.hashedBytes.plus(clamped: size)
        let content = search.contents.add(file, digest: digest, size: size)
        guard content.count > 1 else { return }
        if content.count == 2 { counts.groups += 1 }
        counts.reclaimableBytes = counts.reclaimableBytes.plus(clamped: size)
    }

    /// Names everything an order was about as a problem.
    mutating func giveUp(_ number: Int, because reason: String) {
        guard let order = search.open[number] else { return }
        switch order {
        case .list(let directories, _):
            problems += search.directories[directories].map { Problem(path: $0, reason: reason) }
        case .hash(let candidates):
            problems += search.files.candidates[candidates].map { Problem(path: search.path(of: $0), reason: reason) }
        }
        search.close(number)
    }

    private mutating func finish() {
        phase = .done
        groups = search.groups()
        problems.sort()
        search = Search()
    }
}
