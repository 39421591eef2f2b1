/// Everything that a program needs: `import Samovar`.
@_exported public import struct JournalChain.JournalKind
@_exported public import protocol MessagePack.GeneratedCodable
@_exported public import struct MessagePack.MessagePackError
@_exported public import struct MessagePack.MessagePackPair
@_exported public import struct MessagePack.MessagePackReader
@_exported public import enum MessagePack.MessagePackValue
@_exported public import struct MessagePack.MessagePackWriter
@_exported public import SamovarCommands
@_exported public import SamovarCore
@_exported public import SamovarHost
@_exported public import protocol SamovarStore.Migrating
@_exported public import struct SamovarStore.Migration
@_exported public import SamovarText
@_exported public import SamovarWorker
