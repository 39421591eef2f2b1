/// A 64-bit hash that takes a multiplication for each 16 bytes, where a keyed hash takes a hundred steps.
///
/// Source: wyhash, final version 4, by Wang Yi, 2019–2023, in the public domain. Without a secret of its own: it tells apart what differs by
/// accident, and does not withstand somebody who chooses the bytes.
func wyhash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    let secret: (UInt64, UInt64, UInt64, UInt64) = (
        0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47
    )
    func word(_ place: Int) -> UInt64 { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    func half(_ place: Int) -> UInt64 { UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))) }

    let count = bytes.count
    var seed = seed ^ mixed(seed ^ secret.0, secret.1)
    var (a, b): (UInt64, UInt64)
    switch count {
    case 0: (a, b) = (0, 0)
    case 1...3: (a, b) = (UInt64(bytes[0]) << 16 | UInt64(bytes[count >> 1]) << 8 | UInt64(bytes[count - 1]), 0)
    case 4...16:
        let step = (count >> 3) << 2
        (a, b) = (half(0) << 32 | half(step), half(count - 4) << 32 | half(count - 4 - step))
    default:
        var next = 0
        if count >= 48 {
            var lanes = (seed, seed)
            while count - next >= 48 {
                seed = mixed(word(next) ^ secret.1, word(next + 8) ^ seed)
                lanes.0 = mixed(word(next + 16) ^ secret.2, word(next + 24) ^ lanes.0)
                lanes.1 = mixed(word(next + 32) ^ secret.3, word(next + 40) ^ lanes.1)
                next += 48
            }
            seed ^= lanes.0 ^ lanes.1
        }
        while count - next > 16 {
            seed = mixed(word(next) ^ secret.1, word(next + 8) ^ seed)
            next += 16
        }
        (a, b) = (word(count - 16), word(count - 8))
    }
    let product = (a ^ secret.1).multipliedFullWidth(by: b ^ seed)
    return mixed(product.low ^ secret.0 ^ UInt64(count), product.high ^ secret.1)
}

@inline(__always)
private func mixed(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.low ^ product.high
}
