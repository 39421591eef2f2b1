import SamovarCore

/// The tables of a search that is under way: what was found, what is ordered, and what is still to be ordered.
///
/// Directories and candidates are lists that only grow, and what waits is their end: an order is then just a range of the
/// list, and neither an order nor an answer costs more when much has been found.
struct Search: Portable {
    enum Order: Portable {
        /// Places in `directories`; the first is to be listed only `after` that name.
        case list(directories: Range<Int>, after: Path?)
        /// Places in `files.candidates`.
        case hash(candidates: Range<Int>)
    }

    /// How much is asked of workers at a time.
    enum Limits {
        static let openListings = 100
        static let openHashings = 200
        static let directoriesInOrder = 32
        static let filesInOrder = 256
        static let bytesInOrder = 16 << 20
    }

    var directories: [Path] = []
    private var nextDirectory = 0
    private(set) var listedDirectories = 0
    /// Listings that were too long for one answer, to be continued.
    private var interrupted: [Order] = []

    var files = FileTable()
    private var nextCandidate = 0
    private(set) var settledFiles = 0
    private(set) var settledBytes = 0

    var contents = ContentTable()

    private(set) var open: [Int: Order] = [:]
    private var openListings = 0
    private var lastNumber = 0

    /// The tables of a search that is over.
    init() {}

    init(root: Path) {
        directories = [root]
    }

    /// Whether every directory that was found is listed.
    var isListed: Bool { listedDirectories == directories.count }

    func path(of file: Int) -> Path {
        directories[files.files[file].directory].appending(files.files[file].name)
    }
}

extension Search {
    /// Opens the next order, if there is one and there may be one more.
    mutating func nextOrder() -> (number: Int, order: Order)? {
        guard let order = nextListing() ?? nextHashing() else { return nil }
        lastNumber += 1
        open[lastNumber] = order
        if case .list = order { openListings += 1 }
        return (lastNumber, order)
    }

    private mutating func nextListing() -> Order? {
        guard openListings < Limits.openListings else { return nil }
        if let order = interrupted.popLast() { return order }
        guard nextDirectory < directories.count else { return nil }
        // An eighth of what waits: small orders keep every worker busy when few directories are known, large ones cost less.
        let count = min(max((directories.count - nextDirectory) / 8, 1), Limits.directoriesInOrder)
        defer { nextDirectory += count }
        return .list(directories: nextDirectory..<nextDirectory + count, after: nil)
    }

    private mutating func nextHashing() -> Order? {
        guard open.count - openListings < Limits.openHashings else { return nil }
        let candidates = files.candidates[nextCandidate...].prefix(Limits.filesInOrder)
        var bytes = 0
        var count = 0
        for file in candidates {
            bytes = bytes.plus(clamped: files.files[file].size)
            // A file that is too large for any order has one to itself.
            if bytes > Limits.bytesInOrder, count > 0 { break }
            count += 1
        }
        let isFull = count == Limits.filesInOrder || bytes > Limits.bytesInOrder
        // What does not fill an order waits for more, as long as more may come.
        guard count > 0, isFull || isListed else { return nil }
        defer { nextCandidate += count }
        return .hash(candidates: nextCandidate..<nextCandidate + count)
    }

    /// Closes an order that was answered.
    ///
    /// - Parameters:
    ///   - finished: how many directories are listed; nil if none of the order will be asked for again.
    ///   - resumeAfter: the name after which the first of the others is to be continued.
    mutating func close(_ number: Int, finished: Int? = nil, resumeAfter: Path? = nil) {
        switch open.removeValue(forKey: number) {
        case .list(let directories, _):
            openListings -= 1
            let rest = directories.dropFirst(finished ?? directories.count)
            listedDirectories += directories.count - rest.count
            if !rest.isEmpty { interrupted.append(.list(directories: rest, after: resumeAfter)) }
        case .hash(let candidates):
            settledFiles += candidates.count
            for file in files.candidates[candidates] { settledBytes = settledBytes.plus(clamped: files.files[file].size) }
        case nil:
            break
        }
    }
}

extension Search {
    /// How much of the work that is known is done, from 0 to 1. Opening something costs about as much as hashing 64 KiB.
    var fraction: Double {
        let opening = 65_536.0
        let done = Double(listedDirectories + settledFiles) * opening + Double(settledBytes)
        let total = Double(directories.count + files.candidates.count) * opening + Double(files.candidateBytes)
        return total > 0 ? done / total : 1
    }

    /// The groups of duplicates, in an order that does not depend on how they were found.
    func groups() -> [Dupes.Group] {
        contents.contents.filter { $0.count > 1 }
            .sorted { ($1.reclaimable, $0.digest) < ($0.reclaimable, $1.digest) }
            .map { content in
                let paths = contents.files(of: content).map { path(of: $0) }.sorted()
                return Dupes.Group(sha256: content.digest.hexadecimal, size: content.size, paths: paths)
            }
    }
}
