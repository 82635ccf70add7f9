extension Migrations {
  /// Recipients with values of their own.
  static let migration006 = """
    ALTER TABLE notification ADD COLUMN substitutions BLOB; -- NULL: all get the payload as it is; else Substitutions
    """
}
