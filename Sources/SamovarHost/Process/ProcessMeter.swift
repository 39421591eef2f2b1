import Foundation
package import SamovarStore

/// What a process of this machine takes of it.
package enum ProcessMeter {
    /// Nil if there is no such process, or another user's.
    package static func sample(_ process: Int32) -> ProcessSample? {
        #if canImport(Darwin)
        var usage = rusage_info_v2()
        let status = withUnsafeMutablePointer(to: &usage) { pointer in
            pointer.withMemoryRebound(to: rusage_info_t?.self, capacity: 1) { proc_pid_rusage(process, RUSAGE_INFO_V2, $0) }
        }
        guard status == 0 else { return nil }
        return ProcessSample(
            processorSeconds: Double(usage.ri_user_time + usage.ri_system_time) / 1_000_000_000,
            residentBytes: Int64(clamping: usage.ri_resident_size))
        #else
        // “42 (name) S 41 …”, where the name may hold anything. A process that has ended has no files.
        guard let statistics = text("/proc/\(process)/stat"), let end = statistics.lastIndex(of: ")"),
            let memory = text("/proc/\(process)/statm")?.split(separator: " "), memory.count > 1, let pages = Int64(memory[1])
        else { return nil }
        let fields = statistics[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        return ProcessSample(
            processorSeconds: (user + system) / Double(sysconf(Int32(_SC_CLK_TCK))),
            residentBytes: pages * Int64(sysconf(Int32(_SC_PAGESIZE))))
        #endif
    }

    /// This process.
    package static var own: ProcessSample {
        sample(getpid()) ?? ProcessSample(processorSeconds: 0, residentBytes: 0)
    }

    #if !canImport(Darwin)
    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
    #endif
}
