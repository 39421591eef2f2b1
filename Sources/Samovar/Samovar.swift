/// Everything that a program needs: `import Samovar`.
@_exported public import SamovarCommands
@_exported public import SamovarCore
@_exported public import SamovarHost
