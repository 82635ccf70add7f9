extension Migrations {
  /// Certificates as the second way to authenticate.
  static let migration002 = """
    ALTER TABLE credential ADD COLUMN certificate_sha256 BLOB; -- of the certificate that is presented; never its key
    """
}
