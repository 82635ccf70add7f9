extension Migrations {
  /// Where a store came from that was moved here, and how far the move is.
  static let migration005 = """
    CREATE TABLE move(move_id bigint PRIMARY KEY, source text NOT NULL, finished_at timestamptz);
    CREATE TABLE move_progress(                 -- committed with the rows it counts
      table_name text PRIMARY KEY, last_key text NOT NULL);
    """
}
