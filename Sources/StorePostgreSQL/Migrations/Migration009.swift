extension Migrations {
  /// Which workers can be seen to be alive.
  static let migration009 = """
    CREATE TABLE worker(                        -- has held the advisory lock of its owner: OwnerLock
      owner bigint PRIMARY KEY);
    """
}
