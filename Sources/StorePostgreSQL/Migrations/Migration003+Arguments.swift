extension Migrations {
  /// Which values are taken for the other arguments: see PushCore's `NotificationChecker` and `NotificationLimits`. Each function
  /// gives the faults of one argument, each beginning with the argument's name.
  static let migration003Arguments = #"""
    -- What is wrong with "values", of which at most "most" are taken and each must match "pattern".
    CREATE FUNCTION list_faults(argument text, given text[], most integer, most_bytes integer, pattern text, words text)
      RETURNS text[] LANGUAGE plpgsql IMMUTABLE SET search_path = pushrelay, pg_temp AS $$
    DECLARE faults text[] := '{}'; value text; place integer := 0;
    BEGIN
      IF cardinality(given)>most THEN
        faults := faults||format('%s: %s are given, limit %s', argument, cardinality(given), most);
      END IF;
      FOREACH value IN ARRAY given LOOP
        place := place+1;
        IF value IS NULL THEN faults := faults||format('%s[%s]: it is NULL', argument, place);
        ELSIF value='' THEN faults := faults||format('%s[%s]: it is empty', argument, place);
        ELSIF value COLLATE "C" !~ pattern THEN faults := faults||format('%s[%s]: %s', argument, place, words);
        ELSIF octet_length(value)>most_bytes THEN
          faults := faults||format('%s[%s]: it has %s bytes, limit %s', argument, place, octet_length(value), most_bytes);
        END IF;
      END LOOP;
      RETURN faults;
    END $$;

    -- A token as it is stored: trimmed, without one pair of <> and inner spaces, in lower case.
    CREATE FUNCTION normal_token(token text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pushrelay, pg_temp AS
      $$ SELECT translate(translate(regexp_replace(btrim(token, E' \t\n\v\f\r'), '^<(.*)>$', '\1'), E' \t', ''),
           'ABCDEF', 'abcdef') $$;

    CREATE FUNCTION token_faults(given text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE faults text[]; token text; place integer := 0;
    BEGIN
      faults := list_faults('tokens', ARRAY(SELECT normal_token(t) FROM unnest(given) WITH ORDINALITY u(t,i) ORDER BY i),
        1000, 200, '^[0-9a-f]*$', 'the device token has a character that is not hexadecimal; print each byte with %02x in the app');
      FOREACH token IN ARRAY given LOOP
        place := place+1;
        token := normal_token(token);
        IF token ~ '^[0-9a-f]*$' AND length(token)<=200 AND length(token)%2=1 THEN
          faults := faults||format('tokens[%s]: the device token has %s hexadecimal digits, an odd number: one digit is missing or too many', place, length(token));
        END IF;
      END LOOP;
      RETURN faults;
    END $$;

    -- The topic for a push of a type, from a bundle id or a topic with that suffix already; or why the two do not go together.
    CREATE FUNCTION resolve_topic(topic text, push_type text, OUT resolved text, OUT fault text) LANGUAGE plpgsql STABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE own text; carried record;
    BEGIN
      IF topic IS NULL OR topic='' THEN fault := 'topic: there is none; give the bundle id of the app';
      ELSIF octet_length(topic)>255 THEN fault := format('topic: it has %s characters, limit 255', octet_length(topic));
      ELSIF topic COLLATE "C" !~ '^[A-Za-z0-9_.-]+$' THEN
        fault := 'topic: it has characters that no bundle id has; write it like com.example.app';
      END IF;
      IF fault IS NOT NULL THEN RETURN; END IF;
      SELECT r.topic_suffix INTO own FROM push_type_rule r WHERE r.push_type=resolve_topic.push_type;
      SELECT r.push_type, r.topic_suffix INTO carried FROM push_type_rule r WHERE r.push_type=type_of_suffix(topic);
      IF carried.push_type IS NULL THEN resolved := topic||own;
      ELSIF carried.push_type=resolve_topic.push_type THEN resolved := topic;
      ELSE
        fault := format('topic: it ends in %s, which is for the push type %s, not %s; leave %s away', carried.topic_suffix,
          carried.push_type, push_type, carried.topic_suffix);
      END IF;
    END $$;

    CREATE FUNCTION type_of_suffix(topic text) RETURNS text LANGUAGE sql STABLE SET search_path = pushrelay, pg_temp AS
      $$ SELECT r.push_type FROM push_type_rule r
         WHERE r.topic_suffix<>'' AND length(topic)>length(r.topic_suffix) AND right(topic,length(r.topic_suffix))=r.topic_suffix $$;

    CREATE FUNCTION collapse_id_faults(collapse_id text) RETURNS text[] LANGUAGE sql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
      SELECT array_remove(ARRAY[CASE
        WHEN collapse_id='' THEN 'collapse_id: it is empty; leave it away'
        WHEN collapse_id ~ '[\u0001-\u001f\u007f-\u009f]' THEN 'collapse_id: it has a control character, which no header value may have'
        WHEN collapse_id ~ '^ | $' THEN 'collapse_id: it begins or ends with a space, which no header value may'
        WHEN octet_length(collapse_id)>64 THEN format('collapse_id: it has %s bytes, limit 64', octet_length(collapse_id))
      END], NULL) $$;

    """#
}
