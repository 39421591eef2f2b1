public import SamovarCore

/// Outputs and views, page by page.
extension ClientMachine {
    /// Asks for a page, which comes when there is something in it.
    public mutating func request(
        _ page: PageRequest, of instance: Instance = .main, now: Timestamp
    ) throws(SubmitError) -> [Action] {
        try requireRoomForRequest()
        if connection.isWelcomed, let timeline = page.timeline, timeline != connection.timeline {
            return [.pageless(page, .timelineChanged)]
        }
        return requests.add(page, of: instance) ? ask(ClientRequests.frame(page, instance), now) : []
    }

    /// Nobody waits for this page any more.
    public mutating func forget(_ page: PageRequest) {
        requests.forget(page)
    }

    mutating func answered(_ page: Page, _ actions: inout [Action]) {
        let newest =
            switch page {
            case .outputs(let page): page.outputs.last?.id.turn
            case .views(let page): page.views.last?.turn
            }
        connection.hasTold(of: newest ?? 0)
        actions += requests.answered(by: page).map { .page($0, page) }
    }
}
