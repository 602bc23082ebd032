-- Version 2: writes are appended in groups.
set local role KEEPER;

drop function dure_board.append_write(bytea, uuid, bigint, bytea, text, json, json, bigint);

-- append_writes puts the events of a group of writes into the log, in the transaction
-- that has changed the tables, and sums up what the tables beside the agents' own say
-- of them. It returns the sequence of the first.
--   its_used:    [{"agent", "table", "kind", "n"}]
--   its_changed: table -> which of the writes, counted from 1, changed it last
--   its_grown:   agent -> bytes that its rows grew by
--   its_growers: agent -> bytes that it wrote more than it removed, where that is limited
create function dure_board.append_writes(given bytea, its_ids uuid[], its_time bigint, its_payloads bytea[],
  its_used json, its_changed json, its_grown json, its_growers json, stored_limit bigint) returns bigint language plpgsql security definer as $$
declare
  at_position bigint;
  at_sequence bigint;
  n int := array_length(its_ids, 1);
  late record;
begin
  perform dure_board.known(given);
  select position into at_position from dure_event.head for update;
  select coalesce(max(e.sequence), 0) into at_sequence from dure_event.events e where e.stream = 'board';
  insert into dure_event.events (position, stream, sequence, id, type, version, time, payload)
    select at_position + u.i, 'board', at_sequence + u.i, u.id, 'board.written', 1, its_time, u.payload
    from unnest(its_ids, its_payloads) with ordinality as u (id, payload, i);
  update dure_event.head set position = at_position + n;
  perform pg_notify('dure_event', '');
  insert into dure_board.uses as x
    select v ->> 'agent', v ->> 'table', v ->> 'kind', (v ->> 'n')::bigint from json_array_elements(its_used) v
    on conflict (agent, name, kind) do update set n = x.n + excluded.n;
  update dure_board.tables t set changed = at_sequence + c.value::bigint from json_each_text(its_changed) c where t.name = c.key;
  update dure_board.members m set stored = stored + g.value::bigint from json_each_text(its_grown) g where m.name = g.key;
  select m.stored, g.value::bigint as grew into late from json_each_text(its_growers) g join dure_board.members m on m.name = g.key
    where m.stored > stored_limit limit 1;
  if found then
    raise exception using errcode = 'DB429', message = format('your rows hold %s bytes and may hold %s; remove some', late.stored - late.grew, stored_limit);
  end if;
  update dure_board.applied set sequence = at_sequence + n;
  return at_sequence + 1;
end $$;

-- fresh refuses an ID that is in the log.
create function dure_board.fresh(given bytea, its_id uuid) returns void language plpgsql security definer as $$
begin
  perform dure_board.known(given);
  if exists (select from dure_event.events e where e.id = its_id) then
    raise exception using errcode = 'DB409', message = format('a write with the ID %s is in the log', its_id);
  end if;
end $$;

-- claim takes the next row that is open and meant for an agent. It runs as the tables'
-- owner, since the row is another's.
create function dure_board.claim(given bytea, its_table text, who text, its_time text, its_crew text) returns setof record language plpgsql security definer as $$
begin
  perform dure_board.known(given);
  return query execute format('update board.%1$I set state = ''claimed'', holder = $1, held_at = $2 where id = (
    select id from board.%1$I where state = ''open'' and (to_crew is null or to_crew = $3) and (to_agent is null or to_agent = $1)
    order by priority desc, id limit 1 for update skip locked) returning *', its_table) using who, its_time, its_crew;
end $$;

reset role;
