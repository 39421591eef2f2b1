/// A dictionary, which is read from a map, or from an array of keys and values in turn.
protocol DecodableDictionary {
    init(pairsOf node: DecodingNode.Slot, of session: DecodingSession) throws
}

extension Dictionary: DecodableDictionary where Key: Decodable, Value: Decodable {
    init(pairsOf node: DecodingNode.Slot, of session: DecodingSession) throws {
        let count = try node.pointee.openPairs()
        self.init()
        for _ in 0..<count {
            let start = node.pointee.next
            node.pointee.reader.next = start
            let key = try session.decode(Key.self, node, .same, isKey: true)
            let value = try session.decode(Value.self, node, .entry(start))
            node.pointee.advancePastPair()
            if updateValue(value, forKey: key) != nil { throw node.pointee.repeatedKey(at: start) }
        }
    }
}
