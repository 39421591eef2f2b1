/// A dictionary, which is read from a map, or from an array of keys and values in turn.
protocol DecodableDictionary {
    init(pairsOf node: DecodingNode) throws
}

extension Dictionary: DecodableDictionary where Key: Decodable, Value: Decodable {
    init(pairsOf node: DecodingNode) throws {
        let count = try node.openPairs()
        self.init()
        for _ in 0..<count {
            let start = node.next
            node.reader.next = start
            let key = try node.decode(Key.self, .same, isKey: true)
            let value = try node.decode(Value.self, .entry(start))
            node.advancePastPair()
            if updateValue(value, forKey: key) != nil { throw node.repeatedKey(at: start) }
        }
    }
}
