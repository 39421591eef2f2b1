import Foundation

/// The folder of a store's `ipc` sockets: made by the store and looked at by each of its peers, so that neither meets another user there.
enum SocketFolder {
    /// Where nobody can ever listen: what connects there fails at once, as it does where no store runs.
    private static let nowhere = "ipc:///dev/null/none"
    /// Folders on one path; and others that are ending may remove one after it was made.
    private static let maximumFolders = 256
    private static let hint = "name another place with --endpoint or SAMOVAR_RUNTIME_DIR"

    static func verdict(on folder: String, for use: FolderTrust.Use = .sockets) -> FolderTrust.Verdict {
        FolderTrust(user: geteuid(), use: use).verdict(on: absolute(folder), look: look)
    }

    /// What a peer may give to `connect`: the address itself, or one where nobody listens if its folder is not there, since another
    /// user might make it between the look and the connection.
    ///
    /// - Throws: `EndpointError` if another user could listen there, or if this one may not.
    static func checked(_ address: String) throws(EndpointError) -> String {
        guard address.hasPrefix("ipc://") else { return address }
        let socket = String(address.dropFirst("ipc://".count))
        // ZeroMQ says so itself.
        guard socket.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return address }
        let folder = socket.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        switch verdict(on: folder) {
        case .trusted: break
        case .missing: return nowhere
        case .shared(let path):
            throw EndpointError("the sockets in \(folder) are not trusted: others can write in \(path); protect it with chmod 700")
        case .refused(let reason, _): throw EndpointError("the sockets in \(folder) are not trusted: \(reason); \(hint)")
        }
        if access(socket, W_OK) != 0, errno == EACCES {
            throw EndpointError("permission to use the socket \(socket) is denied: it belongs to another user")
        }
        return address
    }

    /// Makes the folder, and those above it, for this user alone.
    static func make(_ folder: String) throws(EndpointError) {
        for _ in 0..<maximumFolders {
            switch verdict(on: folder) {
            case .trusted, .shared:
                // Nobody else can put another folder in its place.
                guard chmod(folder, 0o700) == 0 else {
                    throw EndpointError("cannot protect the folder \(folder): \(String(cString: strerror(errno)))")
                }
                return
            case .missing(let path):
                guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                    throw EndpointError("cannot make the folder \(path) for sockets: \(String(cString: strerror(errno)))")
                }
            case .refused(let reason, _): throw EndpointError("no sockets are made in \(folder): \(reason); \(hint)")
            }
        }
        throw EndpointError("cannot make the folder \(folder) for sockets: it is removed again and again")
    }

    private static func look(_ path: String) -> FolderTrust.Look {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            return errno == ENOENT ? .missing : failure(errno)
        }
        let kind: PathFacts.Kind
        switch status.st_mode & S_IFMT {
        case S_IFDIR: kind = .folder
        case S_IFLNK:
            guard let target = target(of: path) else { return failure(errno) }
            kind = .link(to: target)
        default: kind = .other
        }
        return .found(PathFacts(kind: kind, owner: status.st_uid, mode: UInt32(status.st_mode) & 0o7777))
    }

    static func failure(_ number: CInt) -> FolderTrust.Look {
        .failed(String(cString: strerror(number)), isForbidden: number == EACCES || number == EPERM)
    }

    private static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
