package postgres

import "strings"

// functions is what agents may call, besides what operators, casts and indexes
// stand for. What is missing changes settings, waits, reads files or the catalogue,
// tells of the server or of others, runs SQL from a text, makes much out of little
// in one step, or takes so long within one step that no cancel is heard (schema
// dure_sql has some of these, for short texts).
const functions = `
	abs acos acosh age array_agg array_append array_cat array_dims array_length array_lower array_ndims array_position
	array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper ascii asin asinh
	atan atan2 atanh avg bit_and bit_length bit_or bool_and bool_or btrim cardinality cbrt ceil ceiling char_length
	character_length chr clock_timestamp concat concat_ws corr cos cosh count covar_pop covar_samp cume_dist date_bin
	date_part date_trunc degrees dense_rank div encode every exp extract first_value floor gcd gen_random_uuid
	generate_series generate_subscripts initcap isfinite json_agg json_array_elements json_array_elements_text
	json_array_length json_build_array json_build_object json_each json_each_text json_extract_path
	json_extract_path_text json_object_agg json_object_keys json_typeof justify_days justify_hours justify_interval lag
	last_value lcm lead left length like_escape ln log log10 lower ltrim make_date make_interval make_time make_timestamp
	make_timestamptz max md5 min mod mode now nth_value ntile num_nonnulls num_nulls octet_length overlaps overlay
	percent_rank percentile_cont percentile_disc pi pow power radians random rank regexp_count regexp_like regexp_match
	regexp_substr reverse right round row_number row_to_json rtrim scale sha256 sign similar_to_escape sin sinh sqrt
	starts_with statement_timestamp stddev stddev_pop stddev_samp string_agg substr substring sum tan tanh timezone
	to_char to_json to_number transaction_timestamp trim_scale trunc unnest upper var_pop var_samp variance width_bucket`

// types whose values can be turned into text and back.
const types = `
	bool int2 int4 int8 float4 float8 numeric text varchar bpchar name date time timetz timestamp timestamptz interval
	uuid json bytea record`

// between are further types that operators may be of.
const between = ` oid char anyarray anyelement anynonarray anycompatible anycompatiblearray anycompatiblenonarray`

// endless are operators' functions that compare each with each, or look for a long
// pattern in a long text, and hear no cancel meanwhile.
const endless = `
	arraycontains arraycontained arrayoverlap textlike textnlike texticlike texticnlike bpcharlike bpcharnlike
	bpchariclike bpcharicnlike namelike namenlike nameiclike nameicnlike bytealike byteanlike`

// allowed is the condition on a row p of pg_proc that agents may call it.
var allowed = strings.NewReplacer("FUNCTIONS", list(functions), "BETWEEN", list(types+between), "TYPES", list(types), "ENDLESS", list(endless)).Replace(`(
	p.pronamespace = 'pg_catalog'::regnamespace
	and not 'internal'::regtype = any(p.proargtypes)
	and (p.provolatile <> 'v' or p.proname in ('random', 'gen_random_uuid', 'clock_timestamp'))
	and (p.proname = any(FUNCTIONS) and not 'cstring'::regtype = any(p.proargtypes) and not (p.proname in ('btrim', 'ltrim', 'rtrim') and p.pronargs = 2)
		or p.oid in (select unnest(array[t.typinput, t.typoutput]) from pg_catalog.pg_type t where t.typname = any(TYPES) and t.typnamespace = 'pg_catalog'::regnamespace)
		or p.proname <> all(ENDLESS)
			and p.proargtypes::oid[] || p.prorettype <@ array(select t.oid from pg_catalog.pg_type t where t.typname = any(BETWEEN) and t.typnamespace = 'pg_catalog'::regnamespace)
			and p.oid in (select oprcode from pg_catalog.pg_operator union all select castfunc from pg_catalog.pg_cast
				union all select amproc from pg_catalog.pg_amproc)))`)

// own is what of dure_board's functions the agents' role may call: triggers and
// policies need no more, and those that take the gateway's key are no use without it.
var own = strings.Fields(`writes touched keep append_writes fresh claim`)

// list is words as an array of SQL.
func list(words string) string { return "'{" + strings.Join(strings.Fields(words), ",") + "}'::name[]" }

// confine takes from PUBLIC what it has in this database, and gives the two roles
// what they need. KEEPER and AGENT stand for their names, DATABASE for its.
var confine = []string{
	"revoke all on database DATABASE from public",
	"grant connect on database DATABASE to AGENT",
	"revoke all on schema public, information_schema from public",
	"revoke all on all tables in schema pg_catalog, information_schema, public from public",
	"revoke all on all routines in schema pg_catalog, information_schema, public from public",
	"alter default privileges revoke execute on routines from public",
	"grant select on pg_class to KEEPER",
	`grant execute on function current_setting(text), current_setting(text, boolean), set_config, nextval, pg_notify,
		pg_advisory_xact_lock(int, int), pg_backend_pid, pg_lock_status, pg_column_size, format(text, "any"), json_each_text, regclass(text),
		strpos, replace, translate, btrim(text, text), ltrim(text, text), rtrim(text, text), split_part, string_to_array(text, text),
		string_to_array(text, text, text), to_timestamp(text, text), to_date(text, text), to_timestamp(double precision),
		textlike, textnlike, texticlike, texticnlike, to_jsonb, jsonb_ne, jsonb_delete(jsonb, text[]) to KEEPER`,
	`do $$ declare f text; begin
		for f in select format('revoke usage on language %I from public', lanname) from pg_language where lanpltrusted loop execute f; end loop;
		select 'grant execute on routine ' || string_agg(p.oid::regprocedure::text, ', ') || ' to AGENT, KEEPER' into f
		from pg_proc p where ` + allowed + `;
		execute f;
	end $$`,
	"grant usage on language plpgsql, sql to KEEPER",
	"grant usage on schema board, dure_sql to AGENT",
	"grant usage on schema dure_event to KEEPER",
	"grant select, update on dure_event.head to KEEPER",
	"grant select, insert on dure_event.events to KEEPER",
}

// excess lists what the agents' role may do and should not. $1: the role, $2: the
// functions of dure_board that it may call.
var excess = `
	select 'call ' || p.oid::regprocedure::text from pg_catalog.pg_proc p
	where pg_catalog.has_function_privilege($1, p.oid, 'execute') and p.prokind <> 'p' and not ` + allowed + `
		and p.pronamespace not in ('board'::regnamespace, 'dure_sql'::regnamespace)
		and not (p.pronamespace = 'dure_board'::regnamespace and p.proname = any($2))
		and pg_catalog.has_schema_privilege($1, p.pronamespace, 'usage')
	union all
	select 'use ' || c.oid::regclass::text from pg_catalog.pg_class c
	where c.relkind in ('r', 'v', 'm', 'f', 'p') and c.relnamespace <> 'board'::regnamespace
		and (pg_catalog.has_table_privilege($1, c.oid, 'select, insert, update, delete, truncate, references, trigger')
			or pg_catalog.has_any_column_privilege($1, c.oid, 'select, insert, update, references'))
	union all
	select 'create in schema ' || n.nspname from pg_catalog.pg_namespace n where pg_catalog.has_schema_privilege($1, n.oid, 'create')
	union all
	select 'write in language ' || l.lanname from pg_catalog.pg_language l where l.lanpltrusted and pg_catalog.has_language_privilege($1, l.oid, 'usage')
	union all
	select 'make schemas or temporary tables' where pg_catalog.has_database_privilege($1, pg_catalog.current_database(), 'create, temporary')
	union all
	select 'act as ' || r.rolname from pg_catalog.pg_roles r where r.rolname <> $1 and pg_catalog.pg_has_role($1, r.oid, 'member')
	union all
	select 'do what roles may' from pg_catalog.pg_roles r where r.rolname = $1
		and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)
	union all
	select 'own ' || c.oid::regclass::text from pg_catalog.pg_class c join pg_catalog.pg_roles r on r.oid = c.relowner where r.rolname = $1
	order by 1`
