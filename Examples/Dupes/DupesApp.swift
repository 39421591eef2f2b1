import Samovar

/// The search as an executable with all of Samovar's commands: `dupes up --seed '{"root":"/usr/share"}' --workers 2`.
@main
struct DupesApp: SamovarApp {
    static var worker: Worker<Dupes> {
        Worker { effect, job in
            switch effect {
            case .list(let order, let directories, let after, let minimumSize):
                let listing = DirectoryReader().list(directories, after: after, minimumSize: minimumSize)
                return .listed(order: order, listing: listing)
            case .hash(let order, let files, let sizes):
                return .hashed(order: order, hashes: FileHasher().hash(files, sizes: sizes))
            }
        }
    }

    /// A batch of small files takes a few milliseconds.
    static var readAhead: Int { 1 }

    static func line(of view: Dupes.ViewState) -> String { DupesText.line(of: view) }

    static func screen(of view: Dupes.ViewState) -> String { DupesText.screen(of: view) }
}
