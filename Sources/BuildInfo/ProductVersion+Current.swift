import Operations

extension ProductVersion {
  /// The version of a program of this package, with the commit it was built from.
  public static func current(_ program: String) -> ProductVersion {
    ProductVersion(name: program, version: "0.1.0", commit: buildCommit == "unknown" ? nil : buildCommit)
  }
}
