/// What the system says of one name on the way to a folder.
struct PathFacts: Equatable {
    enum Kind: Equatable {
        case folder
        case link(to: String)
        case other
    }

    var kind: Kind
    var owner: UInt32
    /// The permission bits, with the sticky one.
    var mode: UInt32

    /// Whether its group or everybody may make and rename things in it.
    fileprivate var isSharedForWriting: Bool { mode & 0o022 != 0 }
    /// In a sticky folder, only the owner of a thing may rename or remove it.
    fileprivate var isSticky: Bool { mode & 0o1000 != 0 }
}

/// Decides whether one user alone (and root, who may do anything) determines what is found at the path of a folder.
///
/// Every folder from the root down must belong to the user or to root, and be writable by nobody else, unless it is sticky as `/tmp` is:
/// there, others cannot touch what is ours. A symbolic link is followed if it lies where only the two can make one. Once such a path is
/// trusted it stays so, since nobody else can change what was looked at: there is no race between this check and the use of the path.
/// A name that is missing in a sticky folder is another matter, because anybody may make it next.
struct FolderTrust {
    /// What the folder is for.
    enum Use {
        /// To listen and to connect in it: it is the user's own.
        case sockets
        /// To keep keys in it, each a file that is the user's own or root's. The folder may be root's, or one of all users, where nobody can
        /// touch a file that is not his.
        case secrets

        fileprivate var harm: String {
            switch self {
            case .sockets: "who could answer in the place of a store"
            case .secrets: "who could put other keys there"
            }
        }
    }

    let user: UInt32
    var use = Use.sockets

    /// What a look at one path gave.
    enum Look: Equatable {
        case found(PathFacts)
        case missing
        /// In the system's words, and whether it does not let this user look.
        case failed(String, isForbidden: Bool = false)
    }

    enum Verdict: Equatable {
        case trusted
        /// This is the first name that is missing.
        case missing(String)
        /// The folder is the user's own on a trusted path, but others may write in it.
        case shared(String)
        /// Why not, in a sentence, and whether it is the system that does not let this user look.
        case refused(String, isForbidden: Bool = false)
    }

    private static let maximumLinks = 40

    /// - Parameters:
    ///   - folder: an absolute path.
    ///   - look: what `lstat` says of an absolute path without links in it.
    func verdict(on folder: String, look: (String) -> Look) -> Verdict {
        var trail: [(path: String, facts: PathFacts)] = []
        var rest = Self.names(of: folder)
        var links = 0
        var next: String? = "/"
        while let path = next {
            switch look(path) {
            case .missing: return .missing(path)
            case .failed(let reason, let isForbidden):
                return .refused("\(path) cannot be looked at: \(reason)", isForbidden: isForbidden)
            case .found(let facts):
                guard facts.owner == user || facts.owner == 0 else {
                    return .refused("\(path) belongs to another user (\(facts.owner)), \(use.harm)")
                }
                switch facts.kind {
                case .other: return .refused("\(path) is no folder")
                case .link(let target):
                    if let above = trail.last, above.facts.isSharedForWriting {
                        return .refused("\(path) is a symbolic link in a folder where others can write")
                    }
                    links += 1
                    guard links <= Self.maximumLinks else { return .refused("\(path) leads from link to link") }
                    rest += Self.names(of: target)
                    if target.hasPrefix("/") { trail.removeLast(trail.count - 1) }
                case .folder:
                    if facts.isSharedForWriting, !facts.isSticky, !rest.isEmpty || facts.owner != user {
                        return .refused("\(path) can be changed by others (mode \(String(facts.mode, radix: 8)))")
                    }
                    trail.append((path, facts))
                }
            }
            next = Self.next(of: &rest, &trail)
        }
        guard let last = trail.last else { return .refused("\(folder) is no folder") }
        if use == .secrets, last.facts.isSticky { return .trusted }
        guard last.facts.owner == user || use == .secrets else { return .refused("\(last.path) belongs to root") }
        if last.facts.isSharedForWriting {
            return last.facts.isSticky ? .refused("\(last.path) is a folder of all users") : .shared(last.path)
        }
        return .trusted
    }

    /// The names on a path, the first one last.
    private static func names(of path: String) -> [Substring] { path.split(separator: "/").reversed() }

    private static func next(of rest: inout [Substring], _ trail: inout [(path: String, facts: PathFacts)]) -> String? {
        while let name = rest.popLast() {
            switch name {
            case ".": continue
            case "..": if trail.count > 1 { trail.removeLast() }
            default:
                let above = trail.last?.path ?? "/"
                return above == "/" ? "/\(name)" : "\(above)/\(name)"
            }
        }
        return nil
    }
}
