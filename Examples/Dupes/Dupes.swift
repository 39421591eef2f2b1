import SamovarCore

/// Finds duplicate files below a folder.
///
/// Workers list directories and hash files; the store knows what was found and decides what to look at next. Only files whose
/// size occurs twice are hashed. Whatever happens to a file meanwhile is a named problem and not the end.
///
/// What counts as what: symbolic links are not followed, devices, sockets and pipes are ignored, and several hard links to one
/// file are one file, known by its smallest path. File systems mounted below the root are searched too, as `find` does. A root
/// that is itself a symbolic link needs a slash at its end.
enum Dupes: Program {
    struct Seed: Portable {
        /// The folder to search. A relative one starts from the folder that the workers run in.
        let root: Path
        /// Files with fewer bytes are only counted. With 0, all empty files are a group.
        let minimumSize: Int
    }

    /// Nothing: a search needs no more than its seed.
    typealias Input = Never

    enum Effect: Portable {
        /// Lists `directories`, the first of them only `after` that name.
        case list(order: Int, directories: PathList, after: Path?, minimumSize: Int)
        /// Hashes `files`, each of which had its size of `sizes` when it was listed.
        case hash(order: Int, files: PathList, sizes: [Int])
    }

    /// The answer to an effect. It names the order it answers, so that an answer that comes twice counts once.
    enum Message: Portable {
        case listed(order: Int, listing: Listing)
        case hashed(order: Int, hashes: Hashes)
        case failed(order: Int, reason: String)
    }

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Dupes> {
        try seed.validate()
        var state = State(seed: seed)
        let command = state.proceed()
        return .state(state, command)
    }

    static func accept(_ input: Never, _ state: State, _ turn: Turn) throws(Never) -> Message {}

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Dupes> {
        switch message {
        case .listed(let order, let listing): state.take(listing, of: order)
        case .hashed(let order, let hashes): state.take(hashes, of: order)
        case .failed(let order, let reason): state.giveUp(order, because: reason)
        }
        return state.proceed()
    }

    static func view(_ state: State) -> ViewState {
        ViewState(state)
    }

    /// The state knows which paths the order was about, and names each of them with this reason.
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .list(let order, _, _, _), .hash(let order, _, _): .failed(order: order, reason: failure.description)
        }
    }
}

extension Dupes.Seed {
    enum Invalid: Error, Equatable, CustomStringConvertible {
        case emptyRoot, rootWithNUL
        case negativeSize(size: Int)

        var description: String {
            switch self {
            case .emptyRoot: "the root is empty; name a folder, such as \".\""
            case .rootWithNUL: "the root holds a NUL character, which no path can"
            case .negativeSize(let size): "the minimum size is \(size), and no file is smaller than 0"
            }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case root, minimumSize
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        root = try container.decode(Path.self, forKey: .root)
        minimumSize = try container.decodeIfPresent(Int.self, forKey: .minimumSize) ?? 1
    }

    func validate() throws(Invalid) {
        if root.bytes.isEmpty { throw .emptyRoot }
        if root.bytes.contains(0) { throw .rootWithNUL }
        if minimumSize < 0 { throw .negativeSize(size: minimumSize) }
    }
}
