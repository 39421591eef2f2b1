import SamovarLoad
extension LoadReport { var page: String { "" } }
