import SamovarCore

extension Dupes {
    /// What anybody may see of a search, small and of the same cost however much was found.
    struct ViewState: Portable {
        let root: Path
        let phase: Phase
        /// How much of the work known so far is done; falls when more work is found.
        let fraction: Double
        let counts: Counts
        /// The groups that free most, the first the most.
        let largest: [LargeGroup]
        let problems: Int
        let firstProblems: [Problem]
    }

    struct LargeGroup: Portable {
        let sha256: String
        let size: Int
        let copies: Int
        let reclaimableBytes: Int
        /// A few of the paths.
        let paths: [Path]
    }
}

extension Dupes.ViewState {
    private static let pathsInGroup = 3
    private static let problemsShown = 5

    init(_ state: Dupes.State) {
        let isDone = state.phase == .done
        self.init(
            root: state.seed.root, phase: state.phase, fraction: isDone ? 1 : state.search.fraction, counts: state.counts,
            largest: isDone ? Self.largest(of: state.groups) : Self.largest(of: state.search),
            problems: state.problems.count, firstProblems: Array(state.problems.prefix(Self.problemsShown)))
    }

    private static func largest(of groups: [Dupes.Group]) -> [Dupes.LargeGroup] {
        groups.prefix(ContentTable.largestCount).map { group in
            Dupes.LargeGroup(
                sha256: group.sha256, size: group.size, copies: group.paths.count,
                reclaimableBytes: group.size.times(clamped: group.paths.count - 1),
                paths: Array(group.paths.prefix(pathsInGroup)))
        }
    }

    private static func largest(of search: Search) -> [Dupes.LargeGroup] {
        search.contents.largest.map { place in
            let content = search.contents.contents[place]
            return Dupes.LargeGroup(
                sha256: content.digest.hexadecimal, size: content.size, copies: content.count,
                reclaimableBytes: content.reclaimable,
                paths: search.contents.files(of: content).prefix(pathsInGroup).map { search.path(of: $0) }.sorted())
        }
    }
}
