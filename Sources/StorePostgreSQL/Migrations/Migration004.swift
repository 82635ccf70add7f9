extension Migrations {
  /// Receipts for SQL: the view `receipt_rows`, and the role that may read it and nothing else.
  static let migration004 = """
    -- The words of the reasons that receipts hold as numbers; those that APNs invents later stand in "reason".
    CREATE TABLE known_reason(reason_id integer PRIMARY KEY, text text COLLATE "C" NOT NULL);
    INSERT INTO known_reason VALUES
      (1,'BadChannelId'), (2,'BadCollapseId'), (3,'BadDeviceToken'), (4,'BadExpirationDate'), (5,'BadMessageId'),
      (6,'BadPriority'), (7,'BadRequestParams'), (8,'BadRequestPayload'), (9,'BadTopic'),
      (10,'CannotCreateChannelConfig'), (11,'ChannelNotRegistered'), (12,'DeviceTokenNotForTopic'),
      (13,'DuplicateHeaders'), (14,'FeatureNotEnabled'), (15,'IdleTimeout'), (16,'InvalidPushType'),
      (17,'MissingChannelId'), (18,'MissingDeviceToken'), (19,'MissingPushType'), (20,'MissingTopic'),
      (21,'PayloadEmpty'), (22,'TopicDisallowed'), (23,'BadCertificate'), (24,'BadCertificateEnvironment'),
      (25,'BadEnvironmentKeyIdInToken'), (26,'BadEnvironmentKeyInToken'), (27,'ExpiredProviderToken'),
      (28,'Forbidden'), (29,'InvalidProviderToken'), (30,'MissingProviderToken'), (31,'TopicMismatch'),
      (32,'UnrelatedKeyIdInToken'), (33,'BadPath'), (34,'MethodNotAllowed'), (35,'ExpiredToken'),
      (36,'Unregistered'), (37,'PayloadTooLarge'), (38,'TooManyProviderTokenUpdates'), (39,'TooManyRequests'),
      (40,'InternalServerError'), (41,'Service Unavailable'), (42,'ServiceUnavailable'), (43,'Shutdown'),
      (200,'NoLongerTargeted'), (201,'DeviceRetired'), (202,'Held'), (203,'ConnectionLost'), (204,'Timeout'),
      (205,'Unreachable');

    CREATE FUNCTION read_varint(bytes bytea, INOUT place integer, OUT value bigint) LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE byte integer := 128; shift integer := 0;
    BEGIN
      value := 0;
      WHILE byte>=128 LOOP
        byte := get_byte(bytes,place);
        value := value|((byte&127)::bigint<<shift);
        shift := shift+7;
        place := place+1;
      END LOOP;
    END $$;

    -- The receipts of a chunk: see `ReceiptChunk`.
    CREATE FUNCTION unpack_receipts(codes bytea, n integer)
      RETURNS TABLE(device_id bigint, outcome integer, status integer, reason integer)
      LANGUAGE plpgsql IMMUTABLE SET search_path = pushrelay, pg_temp AS $$
    DECLARE bytes bytea := codes; ids bigint[]; last bigint := 0; difference bigint; shift integer; byte integer;
      place integer := 1; exception bigint;
    BEGIN
      IF get_byte(bytes,0)<>1 THEN
        RAISE EXCEPTION 'the stored form of these receipts is not known to this version of the schema'
          USING HINT='Run pushrelay migrate with the version that wrote them.';
      END IF;
      -- Without read_varint: most chunks are nothing but ids.
      FOR i IN 0..n-1 LOOP
        difference := 0;
        shift := 0;
        LOOP
          byte := get_byte(bytes,place);
          place := place+1;
          difference := difference|((byte&127)::bigint<<shift);
          EXIT WHEN byte<128;
          shift := shift+7;
        END LOOP;
        last := last+difference;
        ids[i] := last;
      END LOOP;
      FOR i IN 0..n-1 LOOP
        IF exception IS NULL AND place<length(bytes) THEN
          SELECT v.place, v.value INTO place, exception FROM read_varint(bytes,place) v;
        END IF;
        device_id := ids[i];
        IF i=exception THEN
          SELECT v.place, v.value INTO place, status FROM read_varint(bytes,place) v;
          SELECT v.place, v.value INTO place, reason FROM read_varint(bytes,place) v;
          outcome := get_byte(bytes,place);
          place := place+1;
          exception := NULL;
        ELSE
          outcome := 1;
          status := 200;
          reason := 0;
        END IF;
        RETURN NEXT;
      END LOOP;
    END $$;

    -- One row a device and attempt; where each device has a row of its own (small notifications), the last attempt.
    CREATE VIEW receipt_rows AS
      SELECT r.notification_id, r.device_id, d.token, a.topic,
        (ARRAY['production','sandbox'])[c.environment+1] AS environment, r.attempt,
        (ARRAY['pending','accepted','rejected','expired','canceled','failed','skipped'])[r.outcome+1] AS outcome,
        nullif(r.status,0) AS status, coalesce(k.text, s.text) AS reason, r.at
      FROM (SELECT notification_id, device_id, attempt, outcome::integer, status::integer, reason, at FROM receipt
          UNION ALL
          SELECT x.notification_id, u.device_id, x.attempt, u.outcome, u.status, u.reason, x.at
          FROM receipt_chunk x, LATERAL unpack_receipts(x.codes, x.n) u) r
        JOIN notification n ON n.notification_id=r.notification_id JOIN app a ON a.app_id=n.app_id
        LEFT JOIN device d ON d.device_id=r.device_id LEFT JOIN credential c ON c.credential_id=d.credential_id
        LEFT JOIN known_reason k ON k.reason_id=r.reason LEFT JOIN reason s ON s.reason_id=r.reason;

    SELECT grant_role('pushrelay_read', '{read_varint,unpack_receipts}', '{receipt_rows}');
    """
}
