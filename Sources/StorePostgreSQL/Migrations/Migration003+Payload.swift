extension Migrations {
  /// Which payloads are taken: see PushCore's `Payload`, and `Payload+Rules` for each push type.
  static let migration003Payload = #"""
    CREATE TABLE push_type_rule(
      push_type text COLLATE "C" PRIMARY KEY, topic_suffix text COLLATE "C" NOT NULL,
      priorities integer[] NOT NULL,            -- those allowed; the first is the default
      payload_limit integer NOT NULL,           -- bytes
      requires_aps boolean NOT NULL);
    INSERT INTO push_type_rule VALUES
      ('alert', '', '{10,5,1}', 4096, true), ('background', '', '{5,1}', 4096, true),
      ('voip', '.voip', '{10,5,1}', 5120, false), ('complication', '.complication', '{10,5,1}', 4096, false),
      ('fileprovider', '.pushkit.fileprovider', '{10,5,1}', 4096, false), ('mdm', '', '{10,5,1}', 4096, false),
      ('location', '.location-query', '{10,5}', 4096, false),
      ('liveactivity', '.push-type.liveactivity', '{10,5}', 4096, true),
      ('pushtotalk', '.voip-ptt', '{10}', 4096, false), ('widgets', '.push-type.widgets', '{10,5,1}', 4096, true),
      ('controls', '.push-type.controls', '{10,5,1}', 4096, true);

    -- Whether a number is too large for binary64, which most receivers read. "skeleton" is JSON without its strings.
    CREATE FUNCTION has_huge_number(skeleton text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE number text;
    BEGIN
      FOR number IN SELECT m[1] FROM regexp_matches(skeleton, '([0-9][0-9.eE+-]*)', 'g') m LOOP
        PERFORM number::float8;
      END LOOP;
      RETURN false;
    EXCEPTION WHEN numeric_value_out_of_range THEN
      -- One that is too near to zero reads as zero.
      RETURN NOT (number ~ '[eE]-' OR number ~ '^0' AND number !~ '[eE]');
    END $$;

    -- Why a text is no payload; NULL when it is one. Holds nothing of the payload.
    CREATE FUNCTION payload_fault(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE document json; skeleton text; brackets text; depth integer := 0; kind text;
    BEGIN
      IF payload !~ '[^ \t\n\v\f\r]' THEN RETURN 'the payload is empty (APNs: PayloadEmpty)'; END IF;
      BEGIN
        document := payload::json;
        -- Stricter in strings: no half of a surrogate pair, no U+0000.
        PERFORM count(m[1]::jsonb) FROM regexp_matches(payload, '("(?:\\.|[^"\\])*")', 'g') m;
      EXCEPTION
        WHEN untranslatable_character THEN
          RETURN 'the payload has the character U+0000 (\u0000) in a string, which is not taken: remove it';
        WHEN OTHERS THEN RETURN 'it is not valid JSON (RFC 8259), or half of a surrogate pair stands alone in it';
      END;
      skeleton := regexp_replace(payload, '"(\\.|[^"\\])*"', '', 'g');
      brackets := regexp_replace(skeleton, '[^][{}]', '', 'g');
      WHILE brackets<>'' LOOP
        brackets := regexp_replace(brackets, '\[\]|\{\}', '', 'g');
        depth := depth+1;
      END LOOP;
      IF depth>64 THEN RETURN 'nested more than 64 levels deep'; END IF;
      IF has_huge_number(skeleton) THEN RETURN 'the number is too large for a 64-bit floating-point value'; END IF;
      kind := json_typeof(document);
      IF kind<>'object' THEN RETURN 'the payload must be a JSON object, not '||kind; END IF;
      IF (SELECT count(*) FROM json_each(document) WHERE key='aps')>1 THEN
        RETURN 'the payload has aps several times; receivers disagree which counts';
      END IF;
      kind := json_typeof(document->'aps');
      IF kind<>'object' THEN RETURN 'aps must be an object, not '||kind; END IF;
      IF kind='object' AND EXISTS(SELECT 1 FROM json_object_keys(document->'aps') key GROUP BY key HAVING count(*)>1) THEN
        RETURN 'aps has a key twice; receivers disagree which counts';
      END IF;
      RETURN NULL;
    END $$;

    CREATE FUNCTION is_content_available(aps json) RETURNS boolean LANGUAGE sql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS
      $$ SELECT coalesce(json_typeof(aps->'content-available') IN ('number','boolean')
           AND aps->>'content-available' IN ('1','true'), false) $$;

    CREATE FUNCTION is_visible(aps json) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = pushrelay, pg_temp AS
      $$ SELECT aps->'alert' IS NOT NULL OR aps->'badge' IS NOT NULL OR aps->'sound' IS NOT NULL $$;

    -- What makes a payload unfit for a push type.
    CREATE FUNCTION payload_type_faults(document json, push_type text, requires_aps boolean) RETURNS text[]
      LANGUAGE plpgsql IMMUTABLE SET search_path = pushrelay, pg_temp AS $$
    DECLARE aps json := document->'aps'; faults text[] := '{}';
    BEGIN
      IF aps IS NULL AND requires_aps THEN
        RETURN ARRAY[format('payload: there is no aps object, which a push of type %s needs', push_type)];
      END IF;
      IF push_type='alert' AND is_content_available(aps) AND NOT is_visible(aps) THEN
        faults := faults||text 'push_type: the payload has content-available and no alert, badge or sound: that is a push of type background';
      ELSIF push_type='background' THEN
        IF is_visible(aps) THEN
          faults := faults||text 'push_type: background contradicts alert, badge and sound in aps; send it as alert, which may have content-available too';
        END IF;
        IF NOT is_content_available(aps) THEN
          faults := faults||text 'payload.aps: a push of type background needs "content-available": 1';
        END IF;
      ELSIF push_type='liveactivity' THEN
        faults := live_activity_faults(aps);
      ELSIF push_type IN ('widgets','controls') AND aps->>'content-changed' IS DISTINCT FROM 'true'
        OR push_type IN ('widgets','controls') AND json_typeof(aps->'content-changed')<>'boolean' THEN
        faults := faults||format('payload.aps: a push of type %s needs "content-changed": true', push_type);
      ELSIF push_type='mdm' AND json_typeof(document->'mdm') IS DISTINCT FROM 'string' THEN
        faults := faults||text 'payload: a push of type mdm needs "mdm": the push magic, a string';
      ELSIF push_type='fileprovider' AND json_typeof(document->'container-identifier') IS DISTINCT FROM 'string' THEN
        faults := faults||text 'payload: a push of type fileprovider needs "container-identifier", a string';
      END IF;
      RETURN faults;
    END $$;

    CREATE FUNCTION live_activity_faults(aps json) RETURNS text[] LANGUAGE plpgsql IMMUTABLE
      SET search_path = pushrelay, pg_temp AS $$
    DECLARE faults text[] := '{}'; needed record; event text;
    BEGIN
      IF json_typeof(aps->'event')='string' THEN event := aps->>'event'; END IF;
      IF json_typeof(aps->'timestamp') IS DISTINCT FROM 'number' THEN
        faults := faults||text 'payload.aps.timestamp: a Live Activity push needs it, in UNIX seconds';
      ELSIF (aps->>'timestamp')::numeric>100000000000 THEN
        faults := faults||text 'payload.aps.timestamp: it looks like milliseconds; UNIX seconds are needed';
      END IF;
      IF event IS NULL OR event NOT IN ('start','update','end') THEN
        faults := faults||text 'payload.aps.event: it must be start, update or end';
      END IF;
      FOR needed IN SELECT * FROM (VALUES ('start','attributes-type','string'), ('start','attributes','object'),
          ('start','content-state','object'), ('update','content-state','object')) n(event,key,kind) LOOP
        IF needed.event=event AND json_typeof(aps->needed.key) IS DISTINCT FROM needed.kind THEN
          faults := faults||format('payload.aps.%s: a push with event %s needs it, of type %s', needed.key, event, needed.kind);
        END IF;
      END LOOP;
      IF event='start' AND aps->'alert' IS NULL THEN
        faults := faults||text 'payload.aps.alert: a start needs it: the device shows that an activity began';
      END IF;
      RETURN faults;
    END $$;

    """#
}
