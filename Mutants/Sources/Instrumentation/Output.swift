import Foundation

/// One line of data, written at once: a long run in a pipe shows how far it is.
public func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

public func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
