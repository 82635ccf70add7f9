import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// What the roles for backends may do, and that it is all they may do.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct RoleTests {
  private static let call =
    "SELECT pushrelay.enqueue('com.example.app', '{\"aps\":{\"alert\":1}}', interests=>'{news}')"

  /// Runs `body` with a connection of a login role that is a member of a role, and one of the owner.
  private func asMember(
    of role: String, _ body: (_ member: Connection, _ owner: Connection) async throws -> Void
  ) async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      await store.close()
      let name = "backend\(Int.random(in: 0..<1_000_000_000))"
      let owner = try Connection(location, patience: .seconds(10), answerTime: .seconds(20))
      try owner.execute("CREATE ROLE \(name) LOGIN IN ROLE \(role)")
      let uri = location.uri.reveal().replacing("pushrelay@", with: "\(name)@")
      try await body(
        Connection(PostgreSQLLocation(uri), patience: .seconds(10), answerTime: .seconds(20)), owner)
      try owner.execute("DROP OWNED BY \(name); DROP ROLE \(name)")
    }
  }

  private func isRefused(_ sql: String, _ connection: Connection) -> Bool {
    connection.forgetFailure()
    do throws(StoreError) {
      try connection.execute(sql)
      return false
    } catch {
      return connection.failure == SQLState("42501")
    }
  }

  @Test("A member of pushrelay_enqueue may enqueue and wake, and nothing else")
  func enqueue() async throws {
    try await asMember(of: "pushrelay_enqueue") { member, owner in
      #expect(try member.execute(Self.call).flatMap { NotificationID(text: $0) } != nil)
      try member.execute("SELECT pushrelay.wake()")

      let tables = try owner.execute(
        """
        SELECT string_agg(relname, ',') FROM pg_class
        WHERE relnamespace='pushrelay'::regnamespace AND relkind IN ('r','p')
        """)
      for table in (tables ?? "").split(separator: ",") {
        for sql in [
          "SELECT 1 FROM pushrelay.\(table)", "DELETE FROM pushrelay.\(table)", "TRUNCATE pushrelay.\(table)",
        ] {
          #expect(isRefused(sql, member), "\(sql)")
        }
      }
      for sql in [
        "SELECT nextval('pushrelay.device_seq')", "SELECT pushrelay.begin_call(1,1)",
        "SELECT pushrelay.ensure_day('2026-01-01')",
        "SELECT pushrelay.drop_days(1, now())", "SELECT pushrelay.grant_role('pushrelay_enqueue','{}','{device}')",
        "SELECT pushrelay.known_app('x', now())", "CREATE TABLE pushrelay.mine(a int)",
        "CREATE FUNCTION pushrelay.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", "SET ROLE pushrelay",
      ] {
        #expect(isRefused(sql, member), "\(sql)")
      }
    }
  }

  @Test("A member of pushrelay_read may read receipts, and nothing else")
  func read() async throws {
    try await asMember(of: "pushrelay_read") { member, _ in
      let count = try member.execute("SELECT count(*) FROM pushrelay.receipt_rows")
      #expect(count == "0")
      for sql in [
        Self.call, "SELECT 1 FROM pushrelay.device", "SELECT 1 FROM pushrelay.receipt",
        "SELECT 1 FROM pushrelay.provider_token",
        "SELECT pushrelay.wake()", "DELETE FROM pushrelay.receipt", "SELECT pushrelay.varint(1)",
      ] {
        #expect(isRefused(sql, member), "\(sql)")
      }
    }
  }

  @Test("Nothing that a caller puts in the way of names is used by the functions")
  func shadowing() async throws {
    try await asMember(of: "pushrelay_enqueue") { member, owner in
      try member.execute(
        """
        CREATE TEMP TABLE app(app_id bigint, topic text, created_at timestamptz);
        CREATE TEMP TABLE notification AS SELECT 1 AS notification_id;
        CREATE TEMP TABLE device AS SELECT 1 AS device_id;
        CREATE FUNCTION pg_temp.varint(bigint) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$;
        CREATE FUNCTION pg_temp.payload_fault(text) RETURNS text LANGUAGE sql AS $$ SELECT current_user::text $$;
        CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT current_user::text $$;
        SET search_path = pg_temp, public, pg_catalog;
        """)
      let id = try #require(try member.execute(Self.call))
      #expect(try owner.execute("SELECT count(*) FROM pushrelay.notification WHERE notification_id=\(id)") == "1")
      #expect(try member.execute("SELECT count(*) FROM pg_temp.notification") == "1")
      #expect(try member.execute("SHOW search_path") == "pg_temp, public, pg_catalog")
    }
  }

  @Test("Every function of the schema is closed to all others, and those that act as the owner have a fixed path")
  func functions() async throws {
    try await asMember(of: "pushrelay_enqueue") { _, owner in
      let open = try owner.execute(
        """
        SELECT string_agg(p.proname, ',') FROM pg_proc p WHERE p.pronamespace='pushrelay'::regnamespace
          AND (p.proacl IS NULL OR EXISTS(SELECT 1 FROM aclexplode(p.proacl) a WHERE a.grantee=0))
        """)
      #expect(open == nil || open == "", "\(open ?? "")")
      let definers = try owner.execute(
        """
        SELECT string_agg(proname||':'||('search_path=pushrelay, pg_temp'=ANY(proconfig))::text, ',')
        FROM pg_proc WHERE pronamespace='pushrelay'::regnamespace AND prosecdef
        """)
      #expect(definers == "enqueue:true")
      #expect(try owner.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname='pushrelay_enqueue'") == "f")
    }
  }

  @Test("An owner that may make no roles migrates all the same; the grants follow when an administrator made them")
  func withoutRoles() async throws {
    try await PostgreSQLServer.with { server in
      let uri = try await server.makeDatabase()
      let owner = try Connection(PostgreSQLLocation(uri), patience: .seconds(10), answerTime: .seconds(20))
      try owner.execute("CREATE ROLE relay LOGIN; CREATE SCHEMA pushrelay AUTHORIZATION relay")
      let location = PostgreSQLLocation(uri.replacing("pushrelay@", with: "relay@"))
      _ = try PostgreSQLStore.migrate(location)
      #expect(try owner.execute("SELECT to_regrole('pushrelay_enqueue') IS NULL") == "t")

      try owner.execute("CREATE ROLE pushrelay_enqueue NOLOGIN")
      let relay = try Connection(location, patience: .seconds(10), answerTime: .seconds(20))
      try relay.execute("SELECT pushrelay.grant_role('pushrelay_enqueue', '{enqueue,wake}', '{}')")
      #expect(
        try owner.execute("SELECT has_function_privilege('pushrelay_enqueue', 'pushrelay.wake()', 'EXECUTE')") == "t")
    }
  }
}
