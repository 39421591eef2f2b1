/// One effect for several groups of workers, each of which gets a copy.
///
/// A group is a queue, and a copy is an effect of its own: with its own identity, attempts and answer. So one group may fail,
/// wait or be slow without the others, and the program hears from each. A copy's label is that of the order under the name of
/// its group: a policy holds within a group, and `cancel(_:groups:)` reaches all copies.
extension Command {
    /// Orders a copy of an effect for each of these groups.
    ///
    /// ```swift
    /// return .run(.published(article), groups: ["search", "mail"], retry: .times(5))
    /// ```
    public static func run(
        _ effect: P.Effect, groups: [Queue], id: Label? = nil, policy: Policy = .all, retry: Retry = .never,
        timeout: Duration? = nil, priority: Int = 0, delay: Duration = .zero
    ) -> Self {
        .batch(
            groups.map { group in
                .run(
                    effect, id: id?.under(group.name), queue: group, policy: policy, retry: retry, timeout: timeout,
                    priority: priority, delay: delay)
            })
    }

    /// Cancels the copies that were ordered with this label for these groups.
    public static func cancel(_ id: Label, groups: [Queue]) -> Self {
        .batch(groups.map { .cancel(id.under($0.name)) })
    }

    /// The same, after the orders that this command has already.
    public func run(
        _ effect: P.Effect, groups: [Queue], id: Label? = nil, policy: Policy = .all, retry: Retry = .never,
        timeout: Duration? = nil, priority: Int = 0, delay: Duration = .zero
    ) -> Self {
        .batch([
            self,
            .run(
                effect, groups: groups, id: id, policy: policy, retry: retry, timeout: timeout, priority: priority, delay: delay),
        ])
    }
}
