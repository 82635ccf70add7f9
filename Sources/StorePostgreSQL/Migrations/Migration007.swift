extension Migrations {
  /// Recipients with values of their own.
  static let migration007 = """
    ALTER TABLE notification ADD COLUMN substitutions bytea; -- NULL: all get the payload as it is; else Substitutions
    """
}
