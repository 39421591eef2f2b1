import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// A store, its workers and its clients, each on a machine of its own, with keys.
@Suite(
    .serialized,
    .enabled("network namespaces need root, `unshare`, `nsenter`, `ip` and `ss`: several machines are not tested") {
        await Namespaces.areAvailable()
    })
struct MachineTests {
    @Test(.timeLimit(.minutes(600)))
    func `Cuts, flaps, deaths and other keys lose nothing, double nothing, and keep the order`() async throws {
        let seed = ChaosSettings.seed ?? .random(in: .min ... .max)
        var random = SeededRandom(seed: seed)
        let end = ContinuousClock.now + .seconds(ChaosSettings.seconds ?? 0)
        let system = try await FourMachines(in: Scratch())
        for fault in MachineFault.each { try await system.suffer(fault) }
        while ContinuousClock.now < end { try await system.suffer(.random(using: &random)) }
        let verdict = try await system.judge()
        print("four machines, SAMOVAR_CHAOS_SEED=\(seed)\(verdict)")

        let report = verdict.report
        #expect(verdict.ends.isEmpty)
        #expect(report.judgedBy.evidence == "journal")
        // By us.
        #expect(report.problems.allSatisfy { $0.hasPrefix("interrupted after") }, "\(report.problems)")
        for fault in [report.lost, report.duplicated, report.outOfOrder, report.contradicted, report.unanswered] {
            #expect(fault == 0, "\(report.findings)")
        }
        // What the program says for itself: every line once and in order, every job answered.
        #expect(verdict.view.faults.isEmpty)
        #expect(verdict.view.lines == report.inputs.applied && report.inputs.applied > 500)
        #expect(verdict.view.open == 0 && verdict.view.gaveUp == 0)
    }
}

extension FourMachines {
    /// Does what the fault says, proves that it was felt, and waits until everybody works again.
    func suffer(_ fault: MachineFault) async throws {
        switch fault {
        case .cut(let machine, let cut, let seconds): try await self.cut(machine, cut, for: .seconds(seconds))
        case .flap(let machine): try await flap(machine)
        case .reset(let machine):
            counts["connections broken", default: 0] += try await network.reset(machine)
            try await goesOn(machine)
        case .kill(let name): try await kill(name)
        case .revoke(let worker): try await revoke(worker)
        case .renew(let name): try await renew(name)
        }
        counts[fault.kind, default: 0] += 1
    }

    private func cut(_ machine: String, _ cut: Namespaces.Cut, for time: Duration) async throws {
        try await network.cut(machine, cut)
        // What had arrived before is still answered, and told once a second.
        try await Task.sleep(for: .seconds(2))
        let before = try progress(of: machine)
        try await Task.sleep(for: time)
        #expect(try progress(of: machine) == before, "\(machine) was cut, \(cut)")
        try await network.heal(machine)
        try await goesOn(machine)
    }

    private func flap(_ machine: String) async throws {
        for _ in 0..<5 {
            try await network.cut(machine, .both)
            try await Task.sleep(for: .milliseconds(200))
            try await network.heal(machine)
            try await Task.sleep(for: .milliseconds(200))
        }
        try await goesOn(machine)
    }

    private func kill(_ name: String) async throws {
        try process(name).send(SIGKILL)
        #expect(try await process(name).wait() == .killed(SIGKILL))
        if name == "store" { try await startStore() } else { try startWorker(name) }
        try await goesOn(name)
    }

    private func revoke(_ worker: String) async throws {
        let before = try (moved: moved(from: worker).count, refusals: refusals(of: worker))
        try await keys("revoke", worker)
        try await keys("reload")
        let revoked = try await head()
        try await hold("\(worker) hears of it") { try self.refusals(of: worker) > before.refusals }
        // Those that it had are among them, and it cannot answer any more.
        try await hold("all that was to do is done elsewhere") { try await self.oldestOpen() ?? .max > revoked }
        counts["jobs that went on without a revoked worker", default: 0] += try moved(from: worker).count - before.moved
        for other in Self.workers where other != worker { try await goesOn(other) }
        // What it was given before waits for a slot of it, perhaps.
        let later = try begun(by: worker).filter { try Self.turn(of: $0) > revoked }
        #expect(later.isEmpty, "\(worker) has no key")

        try FileManager.default.removeItem(atPath: keyFile(worker))
        try await keys("new", worker, "--role", "worker", "--out", keyFile(worker))
        try await keys("reload")
        try await goesOn(worker)
    }

    private func renew(_ name: String) async throws {
        try await keys("renew", name, "--out", keyFile(name))
        try await keys("reload")
        try await keys("renew", name, "--finish")
        try await keys("reload")
        // With the former key nobody goes on. Of the agents the other one may be who sends.
        try await goesOn(Self.workers.contains(name) ? name : "clients")
    }

    private func refusals(of name: String) throws -> Int {
        try process(name).errors.components(separatedBy: "does not let this worker in").count
    }
}
