/// Which process dies when: the roles in turn, one every interval, and none when the test is over.
public struct KillPlan: Codable, Equatable, Sendable {
    public enum Role: String, Codable, CaseIterable, Sendable {
        case store, worker
    }

    public var roles: [Role]
    /// Microseconds between two deaths.
    public var interval: Int64

    public init(roles: [Role], interval: Int64) {
        self.roles = roles
        self.interval = interval
    }

    /// When death number `index` is due, from 0, in microseconds after the start; nil if the test is over then.
    public func due(_ index: Int, within duration: Int64) -> Int64? {
        guard !roles.isEmpty else { return nil }
        let time = interval * Int64(index + 1)
        return time < duration ? time : nil
    }

    public func role(_ index: Int) -> Role { roles[index % roles.count] }
}
