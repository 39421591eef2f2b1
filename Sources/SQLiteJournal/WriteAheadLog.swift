import Foundation
import Journal
import JournalChain

/// The frames of SQLite's write-ahead log, those that SQLite does not read included.
///
/// The checksum of a frame covers those of all frames before it, and SQLite ends the log in silence at the first that is wrong.
/// But a frame also holds its own sum, so what follows a damaged one can be judged again: from the sum that the damaged frame
/// holds, or from the one that it should hold, whichever of the two was not hit. See https://sqlite.org/fileformat2.html#walformat.
struct WriteAheadLog {
    struct Frame {
        let offset: Int
        let page: UInt32
        /// The pages of the database after the transaction that this frame ends; 0 if it ends none.
        let pages: UInt32
        /// It is what was written.
        let isSound: Bool
        /// It was written since the log was last begun anew.
        let isCurrent: Bool
    }

    static let headerSize = 32
    static let frameHeaderSize = 24

    let path: String
    let pageSize: Int
    let isBigEndian: Bool
    let salts: [UInt8]
    private(set) var frames: [Frame] = []
    /// How many frames SQLite reads: up to the last commit before the first frame that is wrong.
    private(set) var readable = 0
    /// The first frame that is wrong, or the end.
    private var firstWrong = 0
    private let isHeaderSound: Bool

    /// - Parameter pageSize: of the database, for a log whose header cannot be believed.
    /// - Returns: nil if there is no log, or nothing in it.
    init?(at path: String, pageSize: Int) throws(JournalError) {
        guard let size = FileSystem.size(of: path), size > Self.headerSize else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(path) cannot be opened.") }
        defer { close(descriptor) }
        let header = try FileSystem.bytes(from: 0, count: Self.headerSize, of: descriptor, at: path)
        isBigEndian = header.word(0) & 1 == 1
        let stored = LogSum(header, at: 24)
        let computed = LogSum().adding(header[0..<24], isBigEndian: isBigEndian)
        isHeaderSound = stored == computed && header.word(0) & ~1 == 0x377f_0682
        self.path = path
        self.pageSize = isHeaderSound ? Int(header.word(8)) : pageSize
        guard self.pageSize >= 512, self.pageSize <= 65_536, size >= Self.headerSize + Self.frameHeaderSize + self.pageSize
        else { return nil }
        salts =
            isHeaderSound
            ? Array(header[16..<24]) : Array(try FileSystem.bytes(from: Self.headerSize + 8, count: 8, of: descriptor, at: path))
        try readFrames(descriptor, size: size, from: stored, or: computed)
    }

    private mutating func readFrames(_ descriptor: CInt, size: Int, from stored: LogSum, or computed: LogSum) throws(JournalError) {
        // What the frame before may have left: first what it holds, then what it should hold.
        var seeds = stored == computed ? [stored] : [stored, computed]
        var isUnbroken = isHeaderSound
        let step = Self.frameHeaderSize + pageSize
        for offset in stride(from: Self.headerSize, through: size - step, by: step) {
            let bytes = try FileSystem.bytes(from: offset, count: step, of: descriptor, at: path)
            guard bytes.count == step else { break }
            let held = LogSum(bytes, at: 16)
            let sums = seeds.map { seed in
                seed.adding(bytes[0..<8], isBigEndian: isBigEndian)
                    .adding(bytes[Self.frameHeaderSize...], isBigEndian: isBigEndian)
            }
            // Frames of before the log was begun anew have two other salts; damage may have hit one.
            let equalSalts = [bytes[8..<12].elementsEqual(salts[0..<4]), bytes[12..<16].elementsEqual(salts[4..<8])]
            let isSound = sums.contains(held) && equalSalts.contains(true) && bytes.word(0) != 0
            isUnbroken = isUnbroken && isSound && sums[0] == held && !equalSalts.contains(false)
            let frame = Frame(
                offset: offset, page: bytes.word(0), pages: bytes.word(4), isSound: isSound, isCurrent: equalSalts.contains(true))
            frames.append(frame)
            if isUnbroken {
                firstWrong = frames.count
                if frame.pages > 0 { readable = frames.count }
            }
            seeds = isSound ? [held] : [held] + sums.filter { $0 != held }.prefix(1)
        }
    }

    /// How many transactions of one unbroken run of sound frames are committed behind the first wrong one.
    ///
    /// More than one is damage for certain: a power failure can leave only the newest transaction in pieces, and what an earlier one
    /// of such pieces left there holds at most one commit.
    var commitsBehindDamage: Int {
        var most = 0
        var count = 0
        for frame in frames[(isHeaderSound ? firstWrong : 0)...] {
            count = frame.isSound ? count + (frame.pages > 0 ? 1 : 0) : 0
            most = max(most, count)
        }
        return most
    }

    /// The byte at which the first wrong frame begins.
    var damage: Int { isHeaderSound && firstWrong < frames.count ? frames[firstWrong].offset : 0 }

    /// Whether a transaction was begun behind what SQLite reads, which is not whole.
    var endsInPieces: Bool { frames[readable...].contains(where: \.isCurrent) }

    /// The pages of the database after the last transaction that SQLite reads; nil if it reads none.
    var pages: Int? { readable > 0 ? Int(frames[readable - 1].pages) : nil }

    /// The sound frames up to the last commit among them.
    var soundFrames: ArraySlice<Frame> {
        let sound = frames.filter(\.isSound)
        let count = (sound.lastIndex { $0.pages > 0 } ?? -1) + 1
        return sound.prefix(count)
    }
}

/// The checksum of the log: two sums that run over pairs of words.
struct LogSum: Equatable {
    private(set) var low: UInt32 = 0
    private(set) var high: UInt32 = 0

    init() {}

    init(_ bytes: [UInt8], at place: Int) {
        low = bytes.word(place)
        high = bytes.word(place + 4)
    }

    var bytes: [UInt8] { low.bytes + high.bytes }

    /// - Parameter bytes: a multiple of 8.
    func adding(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> LogSum {
        var sum = self
        bytes.withUnsafeBytes { buffer in
            for place in stride(from: 0, to: buffer.count - 7, by: 8) {
                let first = buffer.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let second = buffer.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                sum.low &+= (isBigEndian ? first.bigEndian : first.littleEndian) &+ sum.high
                sum.high &+= (isBigEndian ? second.bigEndian : second.littleEndian) &+ sum.low
            }
        }
        return sum
    }
}

extension [UInt8] {
    /// Four bytes, big-endian.
    func word(_ place: Int) -> UInt32 {
        self[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
