extension Migrations {
  /// Stores what was checked: the same rows as `PostgreSQLStore.publish` writes, in the transaction of the caller.
  static let migration003Publish = #"""
    -- The app of a topic. One that extends a known app's by a suffix is made, paused with it where an operator paused that.
    CREATE FUNCTION known_app(topic text, at timestamptz) RETURNS bigint LANGUAGE plpgsql
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE found bigint; base bigint; suffix text;
    BEGIN
      SELECT a.app_id INTO found FROM app a WHERE a.topic=known_app.topic;
      IF found IS NOT NULL THEN RETURN found; END IF;
      SELECT r.topic_suffix INTO suffix FROM push_type_rule r WHERE r.push_type=type_of_suffix(topic);
      SELECT a.app_id INTO base FROM app a WHERE a.topic=left(known_app.topic,-length(suffix));
      IF base IS NULL THEN
        RAISE EXCEPTION 'pushrelay.enqueue: topic: no app has the topic %', topic USING ERRCODE='invalid_parameter_value',
          DETAIL='Nothing was enqueued.',
          HINT='Add the app to the configuration of the relay and restart it, or correct the topic.';
      END IF;
      INSERT INTO app AS a(topic,created_at) VALUES(known_app.topic,at) ON CONFLICT DO NOTHING;
      SELECT a.app_id INTO found FROM app a WHERE a.topic=known_app.topic;
      INSERT INTO credential(app_id,environment,team_id,key_id,certificate_sha256,signer_seen_at,held_since,held_reason)
        SELECT found, c.environment, c.team_id, c.key_id, c.certificate_sha256, at,
          CASE WHEN c.held_reason='operator' THEN at END, CASE WHEN c.held_reason='operator' THEN c.held_reason END
        FROM credential c WHERE c.app_id=base ON CONFLICT DO NOTHING;
      RETURN found;
    END $$;

    -- The credential of an app and environment; made when there is none: a worker that can sign for it may come.
    CREATE FUNCTION known_credential(app bigint, environment integer, at timestamptz) RETURNS bigint LANGUAGE plpgsql
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE found bigint;
    BEGIN
      INSERT INTO credential(app_id,environment,signer_seen_at) SELECT app, known_credential.environment, at
        WHERE NOT EXISTS(SELECT 1 FROM credential c WHERE c.app_id=app AND c.environment=known_credential.environment)
        ON CONFLICT DO NOTHING;
      SELECT c.credential_id INTO found FROM credential c WHERE c.app_id=app AND c.environment=known_credential.environment;
      RETURN found;
    END $$;

    -- The devices of tokens among those of some credentials: of several the registered one.
    CREATE FUNCTION present_devices(credentials bigint[], tokens text[]) RETURNS TABLE(token text, device_id bigint)
      LANGUAGE sql STABLE SET search_path = pushrelay, pg_temp AS $$
      SELECT DISTINCT ON (d.token) d.token, d.device_id FROM device d
      WHERE d.device_id=ANY(ARRAY(SELECT (SELECT x.device_id FROM device x WHERE x.credential_id=c AND x.token=t)
        FROM unnest(credentials) c, unnest(tokens) t))
      ORDER BY d.token, (d.registered_at>'epoch' AND d.retired_at IS NULL) DESC, d.registered_at DESC $$;

    -- Takes an idempotency key for a notification; what it was used for within its 24 hours, NULL when it was free.
    CREATE FUNCTION take_key(key text, hash bytea, id bigint, at timestamptz) RETURNS bigint LANGUAGE plpgsql
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE earlier record; callers constant bigint := -1;  -- API keys count up from 1, the command line is 0
    BEGIN
      INSERT INTO idempotency AS i(scope,key,request_hash,notification_id,expires_at)
        VALUES(callers,take_key.key,hash,id,at+interval '24h')
        ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE SET request_hash=excluded.request_hash,
          notification_id=excluded.notification_id, expires_at=excluded.expires_at WHERE i.expires_at<=at;
      IF FOUND THEN RETURN NULL; END IF;
      SELECT i.notification_id, i.request_hash INTO earlier FROM idempotency i WHERE i.scope=callers AND i.key=take_key.key;
      IF earlier.request_hash<>hash THEN
        RAISE EXCEPTION 'pushrelay.enqueue: idempotency_key: it was used for another notification (%)', earlier.notification_id
          USING ERRCODE='unique_violation', DETAIL='Nothing was enqueued.', HINT='Choose a new key.';
      END IF;
      RETURN earlier.notification_id;
    END $$;

    -- Stores a checked notification with its tasks; its id. Names and tokens are distinct and sorted.
    CREATE FUNCTION publish(topic text, interests text[], users text[], tokens text[], everyone boolean, environment integer,
      lane integer, headers bytea, payload bytea, lifetime_ms bigint, send_at timestamptz, idempotency_key text, hash bytea)
      RETURNS bigint LANGUAGE plpgsql SET search_path = pushrelay, pg_temp AS $$
    #variable_conflict use_column
    DECLARE
      at timestamptz := date_trunc('milliseconds', clock_timestamp());
      start timestamptz := greatest(date_trunc('milliseconds', publish.send_at), at);
      id bigint := (((extract(epoch FROM at)*1000)::bigint-1577836800000)<<12)|(nextval('notification_seq')&4095);
      app bigint := known_app(publish.topic, at);
      earlier bigint; credentials bigint[]; interest_ids bigint[]; devices bigint[]; missing text[]; signer bigint;
      expected bigint; more bigint; ranges bigint := 1; named boolean; held boolean; target bytea; name text;
    BEGIN
      IF publish.idempotency_key IS NOT NULL THEN
        earlier := take_key(publish.idempotency_key, publish.hash, id, at);
        IF earlier IS NOT NULL THEN RETURN earlier; END IF;
      END IF;

      IF publish.environment IS NOT NULL THEN credentials := ARRAY[known_credential(app, publish.environment, at)];
      ELSE credentials := ARRAY(SELECT c.credential_id FROM credential c WHERE c.app_id=app ORDER BY 1); END IF;

      -- Unknown tokens become devices that no list shows.
      missing := ARRAY(SELECT t FROM unnest(publish.tokens) t EXCEPT SELECT token FROM present_devices(credentials, publish.tokens) ORDER BY 1);
      IF cardinality(missing)>0 THEN
        signer := CASE WHEN cardinality(credentials)=1 THEN credentials[1] ELSE known_credential(app, 0, at) END;
        IF NOT signer=ANY(credentials) THEN credentials := credentials||signer; END IF;
        INSERT INTO device(device_id,credential_id,token,registered_at)
          SELECT (token_bucket(t)<<40)|nextval('device_seq'), signer, t, 'epoch' FROM unnest(missing) t
          WHERE (SELECT d.device_id FROM device d WHERE d.credential_id=signer AND d.token=t) IS NULL ON CONFLICT DO NOTHING;
      END IF;
      devices := ARRAY(SELECT device_id FROM present_devices(credentials, publish.tokens) ORDER BY 1);

      -- Unknown interests are made: whoever subscribes before a scheduled send is in.
      INSERT INTO interest(app_id,name) SELECT app, n FROM unnest(publish.interests) n
        WHERE (SELECT i.interest_id FROM interest i WHERE i.app_id=app AND i.name=n) IS NULL ON CONFLICT DO NOTHING;
      SELECT coalesce(array_agg(i.interest_id ORDER BY i.interest_id),'{}'), coalesce(sum(i.approx_size),0)+cardinality(devices)
        INTO interest_ids, expected FROM interest i WHERE i.app_id=app AND i.name=ANY(publish.interests);
      IF publish.everyone THEN
        SELECT expected+coalesce(sum(c.approx_devices),0) INTO expected FROM credential c WHERE c.credential_id=ANY(credentials);
      END IF;
      -- Of many users each counts as one device: the figure only sizes things.
      more := cardinality(publish.users);
      IF more BETWEEN 1 AND 100 THEN
        SELECT count(*) INTO more FROM device d WHERE d.user_id=ANY(publish.users) AND d.retired_at IS NULL AND d.user_verified
          AND d.credential_id=ANY(credentials);
      END IF;

      named := cardinality(interest_ids)=0 AND cardinality(publish.users)=0 AND NOT publish.everyone;
      expected := expected+more;
      IF publish.lane>0 AND (cardinality(interest_ids)>0 OR publish.everyone) THEN
        ranges := least(greatest((expected+24999)/25000, 1), 256);
      END IF;
      held := start<=at AND NOT EXISTS(SELECT 1 FROM credential c WHERE c.credential_id=ANY(credentials) AND c.held_since IS NULL);
      target := set_byte(bytea '\x0100', 1, publish.everyone::integer)||counted_varints(interest_ids)||varint(cardinality(publish.users));
      FOREACH name IN ARRAY publish.users LOOP
        target := target||varint(octet_length(name))||convert_to(name,'UTF8');
      END LOOP;
      target := target||counted_varints(devices);

      INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload)
        VALUES(id, app, publish.lane, at, start, start+publish.lifetime_ms*interval '1ms', publish.lane<2 AND expected<=100,
          target, publish.headers, publish.payload);
      INSERT INTO notification_state(notification_id,open_tasks) VALUES(id,ranges);
      INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor,n,state)
        SELECT id, app, CASE WHEN cardinality(credentials)=1 THEN credentials[1] END, publish.lane, start,
          start+publish.lifetime_ms*interval '1ms', (4096*i/ranges)<<40, (4096*(i+1)/ranges)<<40, (4096*i/ranges)<<40,
          CASE WHEN named THEN cardinality(devices) ELSE 0 END, CASE WHEN held THEN 3 ELSE 0 END
        FROM generate_series(0,ranges-1) i;
      RETURN id;
    END $$;

    """#
}
