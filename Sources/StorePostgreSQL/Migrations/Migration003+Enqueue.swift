extension Migrations {
  /// What a backend calls.
  static let migration003Enqueue = #"""
    -- Enqueues a notification in the caller's transaction; its id. Refuses with every fault at once.
    CREATE FUNCTION enqueue(topic text, payload text, interests text[] DEFAULT '{}', users text[] DEFAULT '{}',
      tokens text[] DEFAULT '{}', everyone boolean DEFAULT false, environment text DEFAULT NULL, lane text DEFAULT NULL,
      push_type text DEFAULT NULL, priority integer DEFAULT NULL, collapse_id text DEFAULT NULL,
      expires_in interval DEFAULT NULL, send_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL)
      RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pushrelay, pg_temp
      -- As in begin_call: every row is reached by an index, whatever the sizes were when the plan was made.
      SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
      SET jit = off AS $$
    #variable_conflict use_column
    DECLARE
      faults text[] := '{}'; fault text; resolved text; kind text := enqueue.push_type; body text; document json;
      lanes constant text[] := '{urgent,normal,bulk}'; environments constant text[] := '{production,sandbox}';
      lifetime interval := coalesce(enqueue.expires_in, interval '24h'); urgency integer; headers text; rule record;
      -- Distinct and in one order, so that two transactions that make the same rows do not wait in a circle.
      interest_names text[] := ARRAY(SELECT DISTINCT n COLLATE "C" FROM unnest(enqueue.interests) n ORDER BY 1);
      user_ids text[] := ARRAY(SELECT DISTINCT n COLLATE "C" FROM unnest(enqueue.users) n ORDER BY 1);
      device_tokens text[] := ARRAY(SELECT DISTINCT normal_token(n) COLLATE "C" FROM unnest(enqueue.tokens) n ORDER BY 1);
      all_devices boolean := coalesce(enqueue.everyone, false);
    BEGIN
      body := regexp_replace(enqueue.payload, '^\ufeff', '');
      fault := CASE WHEN body IS NULL THEN 'there is none; give the JSON that the device is to receive'
        -- One that no push type takes is not even parsed.
        WHEN octet_length(body)<=5120 THEN payload_fault(body) END;
      IF fault IS NOT NULL THEN faults := faults||('payload: '||fault);
      ELSIF octet_length(body)<=5120 THEN document := body::json; END IF;

      IF kind IS NOT NULL AND NOT EXISTS(SELECT 1 FROM push_type_rule r WHERE r.push_type=kind) THEN
        faults := faults||('push_type: it must be one of '||(SELECT string_agg(r.push_type, ', ' ORDER BY r.push_type) FROM push_type_rule r));
        kind := NULL;
      END IF;
      kind := coalesce(kind, type_of_suffix(enqueue.topic),
        CASE WHEN is_content_available(document->'aps') AND NOT is_visible(document->'aps') THEN 'background' END, 'alert');
      SELECT r.* INTO rule FROM push_type_rule r WHERE r.push_type=kind;
      SELECT t.resolved, t.fault INTO resolved, fault FROM resolve_topic(enqueue.topic, kind) t;
      IF fault IS NOT NULL THEN faults := faults||fault; END IF;
      IF octet_length(body)>rule.payload_limit THEN
        faults := faults||format('payload: %s bytes, limit %s', octet_length(body), rule.payload_limit);
      END IF;
      IF document IS NOT NULL THEN faults := faults||payload_type_faults(document, kind, rule.requires_aps); END IF;
      urgency := coalesce(enqueue.priority, rule.priorities[1]);
      IF NOT urgency=ANY(rule.priorities) THEN
        faults := faults||format('priority: a push of type %s must use priority %s', kind, array_to_string(rule.priorities,' or '));
      END IF;

      IF coalesce(cardinality(enqueue.interests),0)+coalesce(cardinality(enqueue.users),0)+coalesce(cardinality(enqueue.tokens),0)=0
        AND NOT all_devices THEN
        faults := faults||text 'interests, users, tokens, everyone: they name nobody; give at least one interest, user or token, or everyone';
      END IF;
      faults := faults||list_faults('interests', coalesce(enqueue.interests,'{}'), 100, 164, '^[A-Za-z0-9_=@,.;-]*$',
        'the interest has a character that is not allowed; allowed are A-Z a-z 0-9 _ - = @ , . ;');
      faults := faults||list_faults('users', coalesce(enqueue.users,'{}'), 1000, 255, '^[^\u0001-\u001f\u007f-\u009f]*$',
        'the user id has a control character');
      faults := faults||token_faults(coalesce(enqueue.tokens,'{}'))||collapse_id_faults(enqueue.collapse_id);
      IF NOT lifetime BETWEEN interval '0' AND interval '3650 days' THEN
        faults := faults||text 'expires_in: it must be between 0 and 10 years';
      END IF;
      IF NOT enqueue.lane=ANY(lanes) THEN faults := faults||text 'lane: it must be urgent, normal or bulk'; END IF;
      IF NOT enqueue.environment=ANY(environments) THEN
        faults := faults||text 'environment: it must be production or sandbox';
      END IF;
      IF enqueue.send_at>clock_timestamp()+interval '30 days' THEN
        faults := faults||text 'send_at: it must be at most 30 days ahead';
      END IF;
      IF NOT octet_length(enqueue.idempotency_key) BETWEEN 1 AND 255 THEN
        faults := faults||text 'idempotency_key: it must have 1 to 255 bytes';
      END IF;
      IF cardinality(faults)>0 THEN
        RAISE EXCEPTION 'pushrelay.enqueue: %', array_to_string(faults,'; ') USING ERRCODE='invalid_parameter_value',
          DETAIL='Nothing was enqueued.', HINT='Correct the arguments that are named.';
      END IF;

      headers := format('{"push_type":"%s","priority":%s', kind, urgency)
        ||coalesce(',"collapse_id":"'||replace(replace(enqueue.collapse_id,'\','\\'),'"','\"')||'"','')
        ||CASE WHEN lifetime=interval '0' THEN ',"expiration":0}' ELSE '}' END;
      RETURN publish(resolved, interest_names, user_ids, device_tokens, all_devices, array_position(environments,enqueue.environment)-1,
        array_position(lanes, coalesce(enqueue.lane, CASE WHEN json_typeof(document->'aps'->'category')='string'
          AND document->'aps'->>'category'='LoginActions' THEN 'urgent' WHEN all_devices THEN 'bulk' ELSE 'normal' END))-1,
        convert_to(headers,'UTF8'), convert_to(body,'UTF8'),
        -- 0 is one attempt, within 60 seconds.
        CASE WHEN lifetime=interval '0' THEN 60000 ELSE floor(extract(epoch FROM lifetime)*1000)::bigint END, enqueue.send_at,
        enqueue.idempotency_key, sha256(convert_to(jsonb_build_array(resolved, interest_names, user_ids, device_tokens, all_devices,
          enqueue.environment, enqueue.lane, headers, extract(epoch FROM lifetime), extract(epoch FROM enqueue.send_at), body)::text,
          'UTF8')));
    END $$;

    -- The same for a payload that SQL made; its bytes are those of the value's text.
    CREATE FUNCTION enqueue(topic text, payload json, interests text[] DEFAULT '{}', users text[] DEFAULT '{}',
      tokens text[] DEFAULT '{}', everyone boolean DEFAULT false, environment text DEFAULT NULL, lane text DEFAULT NULL,
      push_type text DEFAULT NULL, priority integer DEFAULT NULL, collapse_id text DEFAULT NULL,
      expires_in interval DEFAULT NULL, send_at timestamptz DEFAULT NULL, idempotency_key text DEFAULT NULL)
      RETURNS text LANGUAGE sql SET search_path = pushrelay, pg_temp AS $$
      SELECT enqueue(topic, payload::text, interests, users, tokens, everyone, environment, lane, push_type, priority, collapse_id,
        expires_in, send_at, idempotency_key) $$;

    -- Wakes the workers: called after the commit, where a quarter of a second matters. Inside the transaction that enqueues, its commit
    -- would take a lock of the whole server.
    CREATE FUNCTION wake() RETURNS void LANGUAGE sql SET search_path = pushrelay, pg_temp AS
      $$ SELECT pg_notify('pushrelay_work', '012') $$;

    SELECT grant_role('pushrelay_enqueue', '{enqueue,wake}', '{}');
    """#
}
