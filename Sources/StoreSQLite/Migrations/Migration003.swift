extension Migrations {
  /// What keeps pushes of a credential from being sent.
  static let migration003 = """
    ALTER TABLE credential ADD COLUMN trouble TEXT; -- in words for people; NULL: nothing
    ALTER TABLE credential ADD COLUMN trouble_since INTEGER;
    """
}
