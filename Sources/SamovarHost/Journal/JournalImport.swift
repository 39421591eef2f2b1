import Journal
import JournalChain
public import SamovarCore

/// Putting a copy of another journal in the place of one.
///
/// A backup goes on as a new timeline: what happened after it is unknown to it, so its next turns must not be taken for those that peers
/// remember. A journal that is moved keeps its timeline. For that it is closed for good, once all of it is copied and before the copy is a
/// journal: it names where it has gone, and no store begins with it any more.
public struct JournalImport: Sendable {
    /// The last turn of the copy.
    public let last: Int
    /// Its timeline.
    public let timeline: Timeline
    /// Where the journal is that was there before; nil if there was none.
    public let archive: String?
    /// Whether a replacement of the journal had been cut short, and only that was ended: the source was not read.
    package var wasResumed = false
    /// Whether the journal had been moved there before, and at most its source was still to be left.
    package var wasMoved = false

    /// - Parameters:
    ///   - source: a backup, which stays as it is, or the journal to move.
    ///   - moves: whether it is moved.
    /// - Throws: `StoreError` if the source is not sound, unless all of it has arrived before; nothing was changed then.
    public static func run(
        _ source: JournalLocation, into location: JournalLocation, moves: Bool = false
    ) async throws -> JournalImport {
        try await onJournalThread { try JournalReading.run { try carryOut(source, into: location, moves: moves) } }
    }

    private static func carryOut(
        _ source: JournalLocation, into location: JournalLocation, moves: Bool
    ) throws -> JournalImport {
        // A folder that is to be made has no replacement to end; nor is it made for a source that is of no use.
        let found = location.hasNoFolder ? try open(source) : nil
        if let found { try requireSound(found, in: source) }
        let target = try JournalTarget(location, creating: true)
        defer { target.close() }
        if let (journal, archive) = try target.resumed() {
            return JournalImport(
                last: journal.last, timeline: try JournalSalvage.timeline(of: journal), archive: archive, wasResumed: true)
        }
        let journal = try found ?? open(source)
        // What has arrived needs no sound source any more.
        if moves, let moved = try moved(journal, to: target, at: location) {
            try journal.close()
            try source.leave(for: location)
            return moved
        }
        if found == nil { try requireSound(journal, in: source) }
        guard moves else {
            let last = journal.last
            let (timeline, archive) = try JournalCopy.replace(target, by: journal, through: last)
            return JournalImport(last: last, timeline: timeline, archive: archive)
        }
        try journal.close()
        let origin = try source.openToWrite()
        let wasClosed = try isClosed(origin, in: source, for: location)
        let last = origin.last
        let (timeline, archive) = try JournalCopy.replace(target, by: origin, through: last, isSame: true) {
            try target.requireIdle()
            guard !wasClosed else { return }
            try origin.beginWriting()
            try origin.record(Array(location.fullName.utf8), as: OpenedJournal.Fact.moved)
        }
        try source.leave(for: location)
        return JournalImport(last: last, timeline: timeline, archive: archive)
    }

    /// Opens the journal that is to be copied.
    private static func open(_ source: JournalLocation) throws(StoreError) -> any StoredJournal {
        try StoreError.replacing { () throws(JournalError) in try source.open(examining: true) }
    }

    private static func requireSound(_ journal: any StoredJournal, in source: JournalLocation) throws {
        let examination = try JournalExamination(of: journal)
        if let newer = examination.newer {
            throw StoreError(.configuration, "the journal in \(source) cannot be read: \(newer.problem)")
        }
        if let problem = examination.problems.first {
            // No salvage goes on with what was closed.
            let advice = examination.moved.map {
                " It was closed to be moved to \($0): if `journal verify` finds none there, restore a backup with `journal import`"
            }
            throw StoreError(.damaged, "the journal in \(source) is damaged: \(problem)\(advice ?? "")")
        }
        guard journal.last > 0 else { throw StoreError(.configuration, "the journal in \(source) has no turns") }
    }

    /// What is at the target if this journal has been moved there before; nil if it is to be moved.
    ///
    /// - Throws: `StoreError` if another copy of the journal goes on there, which has turns by now that this one lacks: the same timeline
    ///   would go on twice.
    private static func moved(
        _ journal: any StoredJournal, to target: JournalTarget, at location: JournalLocation
    ) throws -> JournalImport? {
        let other: any StoredJournal
        do throws(JournalError) {
            other = try target.examined()
        } catch {
            // What cannot be read goes to the archive.
            guard [.missing, .damaged, .lost].contains(error.code) else { throw error }
            return nil
        }
        let isOpen = try other.identity == journal.identity && OpenedJournal.place(ofMoved: other) == nil
        let last = other.last
        let timeline: Timeline = isOpen ? try JournalSalvage.timeline(of: other) : .zero
        try other.close()
        guard isOpen else { return nil }
        let isClosed = try OpenedJournal.place(ofMoved: journal).map { location.isNamed(by: $0) } ?? false
        // The source may have lost its end since.
        if isClosed, last >= max(journal.last, journal.witnessed) {
            return JournalImport(last: last, timeline: timeline, archive: nil, wasMoved: true)
        }
        throw StoreError(
            .configuration,
            "\(location) has this journal already, up to turn \(last): nothing is moved over it; without --move a copy becomes a new timeline"
        )
    }

    /// Whether a journal was closed for this move, which was cut short then and is begun again.
    ///
    /// - Throws: `StoreError` if it has gone elsewhere.
    private static func isClosed(
        _ journal: any StoredJournal, in source: JournalLocation, for target: JournalLocation
    ) throws -> Bool {
        guard let moved = try OpenedJournal.place(ofMoved: journal) else { return false }
        guard target.isNamed(by: moved) else { throw StoreError(moved: moved, from: source) }
        return true
    }
}

extension StoreError {
    init(moved place: String, from source: JournalLocation) {
        self.init(
            .configuration,
            "the journal in \(source) was moved to \(place), and is closed for good; `journal import --move` from there brings it back"
        )
    }
}
