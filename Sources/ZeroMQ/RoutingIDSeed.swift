#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Lets the next ROUTER draw routing ids that nobody can guess.
///
/// libzmq takes a router's first id from `rand()` and never seeds it, so in every process the ids would be the same. A
/// peer that claims the next id in advance makes libzmq abort when an honest peer is to get it.
func seedRoutingIDs() {
    srand(UInt32.random(in: .min ... .max))
}
