import Testing

@testable import SamovarHost

struct StartMemoryTests {
    @Test func `Only code of files is given back`() {
        let maps = """
            55d0c8e00000-55d0c9c00000 r-xp 00000000 fe:00 131                        /opt/a program
            55d0c9c00000-55d0c9c68000 r--p 00dff000 fe:00 131                        /opt/a program
            55d0c9c68000-55d0c9d00000 rw-p 00e67000 fe:00 131                        /opt/a program
            55d0ca000000-55d0ca100000 rw-p 00000000 00:00 0                          [heap]
            7f3c5b200000-7f3c5b228000 r--p 00000000 fe:00 77                         /lib/libc.so.6
            7f3c5b228000-7f3c5b3bd000 r-xp 00028000 fe:00 77                         /lib/libc.so.6
            7f3c5c000000-7f3c5c001000 rwxp 00000000 fe:00 78                         /lib/patched.so
            7f3c5d000000-7f3c5d001000 r-xs 00000000 fe:00 79                         /shared
            7f3c5e000000-7f3c5e001000 r-xp 00000000 00:00 0
            7f3c5f000000-7f3c5f001000 r-xp 00000000 00:01 9                          /memfd:compiled (deleted)
            7ffd3a5f8000-7ffd3a5fa000 r-xp 00000000 00:00 0                          [vdso]
            nonsense r-xp 00000000 fe:00 77 /lib/nonsense

            """
        #expect(
            maps.split(separator: "\n").compactMap(StartMemory.codeRange) == [
                0x55d0_c8e0_0000..<0x55d0_c9c0_0000, 0x7f3c_5b22_8000..<0x7f3c_5b3b_d000,
            ])
    }

    @Test func `What is given back comes again when it is needed`() {
        StartMemory.giveBack()
        #expect((1...100).map { "\($0)" }.joined().count == 192)
        StartMemory.giveBack()
        #expect([3, 1, 2].sorted().description == "[1, 2, 3]")
    }
}
