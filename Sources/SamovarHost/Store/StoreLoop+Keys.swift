import Logging
import SamovarCore
import SamovarStore
import SamovarWire

/// The keys of a store that runs.
extension StoreLoop {
    /// The keys with which the store begins to serve: those of now, for it may have followed another one for long.
    ///
    /// - Parameter former: those of the start of this process, which stay if there are none that can be read.
    func keysAtStart(_ former: StoreKeys?, _ machine: inout StoreMachine, now: Timestamp) -> StoreKeys? {
        var keys = former
        do {
            keys = try configuration.keys()
        } catch {
            logger.error("the keys are as they were when this process was started: \(error)")
        }
        if let keys { machine.keysRead(.success(keys.table), now: now) }
        return keys
    }

    /// Reads the keys again. They are taken as a whole, by the doors first and then by the machine, or not at all.
    func readKeys(_ machine: inout StoreMachine, _ sockets: inout StoreSockets, now: Timestamp) throws {
        let keys: StoreKeys?
        do {
            keys = try configuration.keys()
        } catch {
            return machine.keysRead(.failure(KeyTableError("\(error)")), now: now)
        }
        guard let keys else {
            return machine.keysRead(.failure(KeyTableError("the store has no keys: name their folder with --keys")), now: now)
        }
        if try sockets.take(keys, &machine.viewTopics) {
            logger.notice("the store has another key: whoever is connected over the network connects again")
        }
        machine.keysRead(.success(keys.table), now: now)
    }
}

extension StoreConfiguration {
    /// What is in the folder of keys now; nil if there is none.
    func keys() throws(StoreError) -> StoreKeys? {
        guard let keysFolder else { return nil }
        do {
            return try StoreKeys(folder: keysFolder)
        } catch {
            throw StoreError(.configuration, "\(error)")
        }
    }
}
