import MessagePack

func codecBenchmarks() {
    codec("plain", PlainMessage.increment(by: 1_000))
    codec("packable", PackableMessage(step: 1_000))
}

private func codec<Message: Codable & Equatable>(_ name: String, _ message: Message) {
    let codec = ValueCodec<Message>(MessagePackEncoder(), MessagePackDecoder())
    let bytes = prepared { try codec.encode(message) }
    precondition(prepared { try codec.decode(bytes) } == message, "\(name): not what was encoded")
    measure("codec, encode \(name)") { try codec.encode(message) }
    measure("codec, decode \(name)") { try codec.decode(bytes) }
}
