// For `stdout`, a variable of C. That it is set once, before any thread, is what C promises and Swift cannot know.
@preconcurrency import Foundation

/// Lets each line that the program prints leave the process at once, also into a pipe, which would get thousands of bytes together,
/// and nothing of them from a process that is killed.
func printLineByLine() {
    setvbuf(stdout, nil, _IOLBF, 0)
}
