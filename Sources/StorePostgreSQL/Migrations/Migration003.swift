extension Migrations {
  /// A backend enqueues in its own transaction: `enqueue` and `wake`, and the role that may call them and nothing else.
  ///
  /// What PushCore checks of a notification is checked here again, in SQL, and stored in the same bytes: tests compare both.
  static let migration003 =
    migration003Roles + migration003Encoding + migration003Payload + migration003Arguments + migration003Publish
    + migration003Enqueue

  /// Roles belong to the whole server, and only some owners of a database may make them: then an administrator does, and calls this again.
  private static let migration003Roles = """
    -- Lets a role use functions and relations of this schema and nothing else of it; makes the role where that is allowed.
    CREATE FUNCTION grant_role(role text, functions text[], relations text[]) RETURNS void LANGUAGE plpgsql
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE callable regprocedure; relation text;
    BEGIN
      -- A new function may be called by everybody until that is taken back.
      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pushrelay FROM PUBLIC;
      IF to_regrole(role) IS NULL THEN
        BEGIN
          EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION
          WHEN insufficient_privilege THEN RETURN;
          WHEN duplicate_object OR unique_violation THEN NULL;
        END;
      END IF;
      EXECUTE format('GRANT USAGE ON SCHEMA pushrelay TO %I', role);
      FOR callable IN SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace='pushrelay'::regnamespace AND p.proname=ANY(functions) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', callable, role);
      END LOOP;
      FOREACH relation IN ARRAY relations LOOP
        EXECUTE format('GRANT SELECT ON %I TO %I', relation, role);
      END LOOP;
    END $$;

    """

  /// The stored forms of numbers and tokens: see `DeltaVarint` and `DeviceID`.
  private static let migration003Encoding = """
    CREATE FUNCTION varint(value bigint) RETURNS bytea LANGUAGE plpgsql IMMUTABLE SET search_path = pushrelay, pg_temp AS $$
    DECLARE bytes bytea := ''; rest bigint := value;
    BEGIN
      WHILE rest>=128 LOOP
        bytes := bytes||set_byte(bytea '\\x00', 0, (rest&127)::integer|128);
        rest := rest>>7;
      END LOOP;
      RETURN bytes||set_byte(bytea '\\x00', 0, rest::integer);
    END $$;

    -- The number of ids and their differences; the ids ascend.
    CREATE FUNCTION counted_varints(ids bigint[]) RETURNS bytea LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE bytes bytea := varint(cardinality(ids)); id bigint; previous bigint := 0;
    BEGIN
      FOREACH id IN ARRAY ids LOOP
        bytes := bytes||varint(id-previous);
        previous := id;
      END LOOP;
      RETURN bytes;
    END $$;

    -- FNV-1a of 64 bits in two halves, since a bigint has no room for the product.
    CREATE FUNCTION token_bucket(token text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE bytes bytea := convert_to(token,'UTF8'); high bigint := 3421674724; low bigint := 2216829733; product bigint;
    BEGIN
      FOR i IN 0..length(bytes)-1 LOOP
        low := low#get_byte(bytes,i);
        product := low*435;
        high := (high*435+(product>>32)+(low<<8))&4294967295;
        low := product&4294967295;
      END LOOP;
      RETURN (low#high)&4095;
    END $$;

    """
}
