-- Version 1. KEEPER and AGENT stand for the roles' names.
create schema dure_board authorization KEEPER;
create schema board authorization KEEPER;
create schema dure_sql authorization KEEPER;
set local role KEEPER;

create table dure_board.version (version int not null);
insert into dure_board.version values (1);

-- What only the gateway knows: the agents' role logs in with it and cannot read it.
create table dure_board.secret (key bytea not null);
insert into dure_board.secret values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- The sequence of the board's stream that the tables are at.
create table dure_board.applied (sequence bigint not null);
insert into dure_board.applied values (0);

create table dure_board.tables (
  name        text collate "C" primary key,
  description bytea not null,           -- a board.Table as JSON
  changed     bigint not null default 0 -- sequence of the last change
);
create table dure_board.members (
  name   text collate "C" primary key,
  crew   text,
  role   text not null,
  seen   bigint not null,
  stored bigint not null default 0 -- bytes of all values of its rows
);
create table dure_board.uses (
  agent text collate "C" not null,
  name  text collate "C" not null,
  kind  text not null,
  n     bigint not null,
  primary key (agent, name, kind)
) with (fillfactor = 50);
-- Changes of large writes, in pieces: a part of the log.
create table dure_board.away (
  name  text collate "C" not null,
  piece int not null,
  data  bytea not null,
  primary key (name, piece)
);
alter table dure_board.away alter data set storage external;

-- Who speaks. The gateway sets it before each statement; nothing that an agent can
-- run is able to change a setting.
create function board.me() returns text language plpgsql stable security definer cost 1000
  as $$ begin return nullif(current_setting('dure.speaker', true), '')::json ->> 'agent'; end $$;
create function board.my_crew() returns text language plpgsql stable security definer cost 1000
  as $$ begin return nullif(current_setting('dure.speaker', true), '')::json ->> 'crew'; end $$;
create function board.utc() returns text language plpgsql stable security definer cost 1000
  as $$ begin return nullif(current_setting('dure.speaker', true), '')::json ->> 'at'; end $$;

-- Functions that look for a pattern in a text take as long as both are together, in
-- one step in which the server hears no cancel: in megabytes of text that is hours.
-- These stand before them in the agents' search_path, and want texts that are short;
-- the originals are not the agents' to call.
create function dure_sql.short(whole bigint, pattern bigint) returns void language plpgsql immutable as $$
begin
  if whole > 1048576 or pattern > 256 then
    raise exception using errcode = 'DB413', message =
      'a text that something is looked for in may have 1048576 bytes, what is looked for, or a pattern, 256';
  end if;
end $$;
create function dure_sql.strpos(text, text) returns int language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.strpos($1, $2);
end $$;
create function dure_sql.replace(text, text, text) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  if octet_length($1)::bigint / greatest(octet_length($2), 1) * octet_length($3) > 16777216 then
    raise exception using errcode = 'DB413', message = 'a text with replacements may have 16777216 bytes';
  end if;
  return pg_catalog.replace($1, $2, $3);
end $$;
create function dure_sql.translate(text, text, text) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.translate($1, $2, $3);
end $$;
create function dure_sql.btrim(text, text) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.btrim($1, $2);
end $$;
create function dure_sql.ltrim(text, text) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.ltrim($1, $2);
end $$;
create function dure_sql.rtrim(text, text) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.rtrim($1, $2);
end $$;
create function dure_sql.split_part(text, text, int) returns text language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.split_part($1, $2, $3);
end $$;
create function dure_sql.string_to_array(text, text) returns text[] language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.string_to_array($1, $2);
end $$;
create function dure_sql.to_timestamp(text, text) returns timestamptz language plpgsql stable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.to_timestamp($1, $2);
end $$;
create function dure_sql.to_timestamp(double precision) returns timestamptz language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(0, 0);
  return pg_catalog.to_timestamp($1);
end $$;
create function dure_sql.to_date(text, text) returns date language plpgsql stable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.to_date($1, $2);
end $$;
create function dure_sql.is_like(text, text) returns boolean language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.textlike($1, $2);
end $$;
create operator dure_sql.~~ (leftarg = text, rightarg = text, function = dure_sql.is_like);
create function dure_sql.is_not_like(text, text) returns boolean language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.textnlike($1, $2);
end $$;
create operator dure_sql.!~~ (leftarg = text, rightarg = text, function = dure_sql.is_not_like);
create function dure_sql.is_ilike(text, text) returns boolean language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.texticlike($1, $2);
end $$;
create operator dure_sql.~~* (leftarg = text, rightarg = text, function = dure_sql.is_ilike);
create function dure_sql.is_not_ilike(text, text) returns boolean language plpgsql immutable strict security definer as $$
begin
  perform dure_sql.short(octet_length($1), octet_length($2));
  return pg_catalog.texticnlike($1, $2);
end $$;
create operator dure_sql.!~~* (leftarg = text, rightarg = text, function = dure_sql.is_not_ilike);

-- writes reports whether the speaker may have written a row: it did, or leads where
-- the lead may write, or the trigger below looks closer.
create function dure_board.writes(agent text, lead boolean, held boolean) returns boolean language plpgsql stable security definer as $$
declare speaker json := nullif(current_setting('dure.speaker', true), '');
begin
  return agent = speaker ->> 'agent' or lead and speaker ->> 'role' = 'lead' or held;
end $$;

-- guard stamps rows and says no, before anything is written. The gateway judges each
-- row once more from what capture tells it.
--   TG_ARGV: sequence of ids, whether the lead may change foreign rows, whether rows
--   are fixed, the roles that may insert (none: all)
create function dure_board.guard() returns trigger language plpgsql security definer as $$
declare
  speaker json := nullif(current_setting('dure.speaker', true), '');
  me text := speaker ->> 'agent';
  lead boolean := TG_ARGV[1]::boolean and speaker ->> 'role' = 'lead';
begin
  if me is null then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = 'nobody speaks';
  end if;
  if TG_OP <> 'INSERT' and TG_ARGV[2]::boolean then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = TG_TABLE_NAME || ': its rows stay as they are; insert another';
  end if;
  if TG_OP = 'DELETE' then
    if old.agent <> me and not lead then
      raise exception using errcode = 'DB403', table = TG_TABLE_NAME,
        message = format('%s: row %s was written by %s; only its writer may remove it', TG_TABLE_NAME, old.id, old.agent);
    end if;
    return old;
  end if;
  if TG_OP = 'INSERT' then
    if TG_ARGV[3] <> '{}' and speaker ->> 'role' <> all (TG_ARGV[3]::text[]) then
      raise exception using errcode = 'DB403', table = TG_TABLE_NAME,
        message = format('%s: only %s may insert here, you are %s', TG_TABLE_NAME, TG_ARGV[3], speaker ->> 'role');
    end if;
    -- Columns that the statement does not name are '' here; null was said.
    if new.id is not null or new.at is not null or new.agent is null or new.agent not in ('', me)
      or new.crew is distinct from '' and new.crew is distinct from speaker ->> 'crew' then
      raise exception using errcode = 'DB403', table = TG_TABLE_NAME,
        message = TG_TABLE_NAME || ': leave out the columns id, agent, crew and at; they are filled';
    end if;
    -- Held to the end of the transaction, so that ids have the order of the log.
    perform pg_advisory_xact_lock(1685418597, TG_RELID::bigint::int);
    new.id := nextval(TG_ARGV[0]::regclass);
    new.agent := me;
    new.crew := speaker ->> 'crew';
    new.at := speaker ->> 'at';
  elsif (new.id, new.agent, new.at) is distinct from (old.id, old.agent, old.at) or new.crew is distinct from old.crew then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = TG_TABLE_NAME || ': columns id, agent, crew and at are filled and stay';
  end if;
  return new;
end $$;

-- foreign_row refuses to change what another wrote, in tables without holders.
create function dure_board.foreign_row() returns trigger language plpgsql security definer as $$
declare speaker json := nullif(current_setting('dure.speaker', true), '');
begin
  if old.agent is distinct from speaker ->> 'agent' and not (TG_ARGV[1]::boolean and speaker ->> 'role' = 'lead') then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME,
      message = format('%s: row %s was written by %s; only its writer may change it', TG_TABLE_NAME, old.id, old.agent);
  end if;
  return new;
end $$;

-- held is that of tables with holders: the holder sets state and result, a claim
-- alone the holder, and a row that is opened again has none.
create function dure_board.held() returns trigger language plpgsql security definer as $$
declare
  speaker json := nullif(current_setting('dure.speaker', true), '');
  me text := speaker ->> 'agent';
  mine boolean;
begin
  if TG_OP = 'INSERT' then
    if new.holder is not null or new.held_at is not null or new.state = 'claimed' then
      raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = TG_TABLE_NAME || ': a row begins without a holder; claim it';
    end if;
    return new;
  end if;
  if (speaker ->> 'claim')::boolean then
    return new;
  end if;
  mine := old.agent = me or TG_ARGV[1]::boolean and speaker ->> 'role' = 'lead';
  if not mine and old.holder is distinct from me then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME,
      message = format('%s: row %s was written by %s; only its writer may change it', TG_TABLE_NAME, old.id, old.agent);
  end if;
  if (new.holder, new.held_at) is distinct from (old.holder, old.held_at) then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = TG_TABLE_NAME || ': its holder is set by claim';
  end if;
  if new.state = 'open' then
    new.holder := null;
    new.held_at := null;
  end if;
  if not mine and to_jsonb(new) - '{state,result,holder,held_at}'::text[] <> to_jsonb(old) - '{state,result,holder,held_at}'::text[] then
    raise exception using errcode = 'DB403', table = TG_TABLE_NAME, message = format('%s: you hold row %s and may set state and result only', TG_TABLE_NAME, old.id);
  end if;
  return new;
end $$;

-- count stops a write that is about to become too large while it is being made; the
-- gateway counts exactly.
create function dure_board.count_bytes() returns trigger language plpgsql security definer as $$
declare
  n bigint := coalesce(nullif(current_setting('dure.written', true), ''), '0')::bigint + pg_column_size(new.*);
begin
  if n > (current_setting('dure.speaker')::json ->> 'limit')::bigint then
    raise exception using errcode = 'DB413', table = TG_TABLE_NAME, message = 'the statement writes more than it may';
  end if;
  perform set_config('dure.written', n::text, true);
  return new;
end $$;

-- capture tells the gateway of each row, as it was and as it is.
create function dure_board.capture() returns trigger language plpgsql security definer as $$
begin
  case TG_OP
  when 'INSERT' then
    raise notice using errcode = 'DB001', schema = 'dure_board', table = TG_TABLE_NAME, column = TG_OP, message = row_to_json(new)::text;
  when 'UPDATE' then
    raise notice using errcode = 'DB001', schema = 'dure_board', table = TG_TABLE_NAME, column = TG_OP, message = row_to_json(new)::text, detail = row_to_json(old)::text;
  else
    raise notice using errcode = 'DB001', schema = 'dure_board', table = TG_TABLE_NAME, column = TG_OP, message = 'null', detail = row_to_json(old)::text;
  end case;
  return null;
end $$;

-- touched is the tables that this transaction has locked, and how.
create function dure_board.touched() returns table (name text, mode text) language sql security definer as $$
  select c.relname::text, l.mode from pg_lock_status() l
  join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and l.locktype = 'relation'
    and c.relnamespace = 'board'::regnamespace and c.relkind = 'r'
$$;

create function dure_board.known(given bytea) returns void language plpgsql security definer as $$
begin
  if given is distinct from (select key from dure_board.secret) then
    raise exception using errcode = 'DB403', message = 'this is the gateway''s';
  end if;
end $$;

-- keep keeps a piece of a large write's changes.
create function dure_board.keep(given bytea, its_name text, its_piece int, its_data bytea) returns void language plpgsql security definer as $$
begin
  perform dure_board.known(given);
  insert into dure_board.away values (its_name, its_piece, its_data);
end $$;

-- account is what the tables beside the agents' own say of an event.
create function dure_board.account(at_sequence bigint, who text, used json, grown json, stored_limit bigint) returns void
language plpgsql security definer as $$
declare
  u record;
  total bigint;
begin
  for u in select value ->> 'table' as name, value ->> 'kind' as kind from json_array_elements(used) loop
    insert into dure_board.uses as x values (who, u.name, u.kind, 1) on conflict (agent, name, kind) do update set n = x.n + 1;
    if u.kind = 'write' then
      update dure_board.tables t set changed = at_sequence where t.name = u.name;
    end if;
  end loop;
  for u in select key, value::bigint as n from json_each_text(grown) loop
    update dure_board.members m set stored = stored + u.n where m.name = u.key returning stored into total;
    if u.key = who and u.n > 0 and total > stored_limit then
      raise exception using errcode = 'DB429', message = format('your rows hold %s bytes and may hold %s; remove some', total - u.n, stored_limit);
    end if;
  end loop;
  update dure_board.applied set sequence = at_sequence;
end $$;

-- append_event puts an event of the board's stream into the log, in the transaction
-- that changes the tables: as package event/postgres does it, behind the lock on the
-- log's end, which gives positions the order of commits.
create function dure_board.append_event(given bytea, its_id uuid, its_type text, its_time bigint, its_payload bytea) returns bigint
language plpgsql security definer as $$
declare
  at_position bigint;
  at_sequence bigint;
begin
  perform dure_board.known(given);
  select position + 1 into at_position from dure_event.head for update;
  select coalesce(max(e.sequence), 0) + 1 into at_sequence from dure_event.events e where e.stream = 'board';
  insert into dure_event.events (position, stream, sequence, id, type, version, time, payload)
    values (at_position, 'board', at_sequence, its_id, its_type, 1, its_time, its_payload);
  update dure_event.head set position = at_position;
  perform pg_notify('dure_event', '');
  return at_sequence;
end $$;

create function dure_board.append_write(given bytea, its_id uuid, its_time bigint, its_payload bytea,
  who text, used json, grown json, stored_limit bigint) returns bigint language plpgsql security definer as $$
declare
  at_sequence bigint := dure_board.append_event(given, its_id, 'board.written', its_time, its_payload);
begin
  perform dure_board.account(at_sequence, who, used, grown, stored_limit);
  return at_sequence;
end $$;

reset role;
