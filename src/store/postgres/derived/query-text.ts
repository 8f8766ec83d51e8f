/**
 * Parses a query closely enough to confine it to the views: tenants share a database, and a built-in function
 * or table of PostgreSQL could reveal the others. It knows the tokens of SQL and not its grammar; it rejects
 * anything ambiguous.
 */
import { severalStatements } from "../../sql/query-result.ts";
import { tokenizeSql, type SqlToken } from "../../../platform/postgres-tokens.ts";

export interface QueryText {
  /** Without its terminator. */
  readonly text: string;
  /** Names before a dot: none may be a schema. */
  readonly owners: readonly string[];
  /** Names that are called, or could be: none may be a function outside the allowlist. */
  readonly called: readonly string[];
}

/** The query in runnable form, or its flaw. */
export function readQuery(sql: string): QueryText | string {
  if (sql.includes("\0")) return "contains a NUL character";
  const tokens = tokenizeSql(sql);
  if (typeof tokens === "string") return tokens;
  while (tokens.at(-1)?.value === ";" && tokens.at(-1)?.kind === "sign") tokens.pop();
  const wrong = kindsFlaw(tokens) ?? signsFlaw(tokens) ?? firstFlaw(tokens) ?? wordsFlaw(tokens);
  if (wrong !== null) return wrong;
  const names = tokens.map((token) => (isName(token) ? token.value : null));
  const isSign = (at: number, sign: string): boolean =>
    tokens[at]?.kind === "sign" && tokens[at].value === sign;
  // After these words comes a name that the query itself defines, also with columns in parentheses.
  const isWord = (at: number, word: string): boolean =>
    tokens[at]?.kind === "word" && tokens[at].value === word;
  const isGiven = (at: number): boolean =>
    isWord(at - 1, "as") || isWord(at - 1, "with") || (isWord(at - 1, "recursive") && isWord(at - 2, "with"));
  const pick = (wanted: (at: number) => boolean): string[] => [
    ...new Set(names.filter((name, at): name is string => name !== null && wanted(at))),
  ];
  return {
    text: sql.slice(0, tokens.at(-1)?.end ?? 0),
    owners: pick((at) => isSign(at + 1, ".")),
    called: pick((at) => (isSign(at + 1, "(") && !isGiven(at)) || isSign(at - 1, ".")).filter(
      (name) => !open.has(name),
    ),
  };
}

const isName = ({ kind }: SqlToken): boolean => kind === "word" || kind === "quoted";

/** Texts with escapes, parameters, and characters that no query needs. */
function kindsFlaw(tokens: readonly SqlToken[]): string | null {
  for (const { kind, value } of tokens) {
    if (kind === "escaped") return "escape strings (E'…' or U&'…') are not allowed";
    const isStrange = kind === "dollar" || (kind === "sign" && !/^[-+*/<>=~!@#%^&|`?.,;:()[\]]$/.test(value));
    if (isStrange) return `unexpected ${JSON.stringify(value[0])}`;
  }
  return null;
}

function signsFlaw(tokens: readonly SqlToken[]): string | null {
  let depth = 0;
  for (const { kind, value } of tokens) {
    if (kind !== "sign") continue;
    if (value === ";") return severalStatements;
    if (value === "(") depth++;
    if (value === ")" && --depth < 0) return "unmatched closing bracket";
  }
  return depth === 0 ? null : "unmatched opening bracket";
}

function firstFlaw(tokens: readonly SqlToken[]): string | null {
  const first = tokens.find(({ value }) => value !== "(");
  const reads = first?.kind === "word" && ["select", "with", "values"].includes(first.value);
  return reads ? null : "expected SELECT, WITH or VALUES at the start";
}

function wordsFlaw(tokens: readonly SqlToken[]): string | null {
  const bad = tokens.find(
    (token) => isName(token) && (isClosed(token.value) || (token.kind === "word" && tells.has(token.value))),
  );
  return bad === undefined ? null : `${bad.value} is not allowed in queries`;
}

/** PostgreSQL's own objects, and types that look up names in them. */
const closed: ReadonlySet<string> = new Set(
  `information_schema skein skein_views regclass regcollation regconfig regdictionary regnamespace regoper
  regoperator regproc regprocedure regrole regtype`.split(/\s+/),
);
const isClosed = (name: string): boolean => /^pg_/i.test(name) || closed.has(name.toLowerCase());

/** Words that reveal the server without parentheses, or write. */
const tells = new Set(
  `current_user session_user system_user user current_role current_catalog current_schema
  into insert update delete merge operator`.split(/\s+/),
);

/** Functions that depend only on their arguments, and columns with names of functions. */
const open: ReadonlySet<string> = new Set(
  `count sum avg min max total group_concat string_agg array_agg bool_and bool_or every stddev stddev_pop
  stddev_samp variance var_pop var_samp mode percentile_cont percentile_disc corr
  json_agg jsonb_agg json_object_agg jsonb_object_agg
  row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
  lower upper initcap length char_length character_length octet_length bit_length substr substring replace
  translate overlay position strpos left right trim btrim ltrim rtrim split_part reverse concat concat_ws
  starts_with ascii chr md5 sha256 encode decode format to_char to_number to_date quote_literal
  regexp_replace regexp_match regexp_matches regexp_split_to_array regexp_split_to_table regexp_count
  regexp_like regexp_substr string_to_array array_to_string array_length array_position cardinality unnest
  abs ceil ceiling floor round trunc sign mod div power sqrt exp ln log log10 width_bucket random
  now date datetime date_part date_trunc date_bin extract age to_timestamp make_interval timezone
  clock_timestamp statement_timestamp justify_days justify_hours justify_interval
  json_extract json_extract_path json_extract_path_text jsonb_extract_path jsonb_extract_path_text
  json_each json_each_text jsonb_each jsonb_each_text json_array_elements json_array_elements_text
  jsonb_array_elements jsonb_array_elements_text json_array_length jsonb_array_length json_object_keys
  jsonb_object_keys json_typeof jsonb_typeof jsonb_path_exists jsonb_path_match jsonb_path_query
  jsonb_path_query_array jsonb_path_query_first json_build_array json_build_object jsonb_build_array
  jsonb_build_object json_strip_nulls jsonb_strip_nulls to_json to_jsonb row_to_json array_to_json
  json jsonb generate_series
  text varchar bpchar char name bool int2 int4 int8 float4 float8 numeric time timestamp timestamptz interval
  session status agent objective priority labels parent seq at type v actor turn cause body content erased
  hash call tool effect input output ms kind key value because decision model day`.split(/\s+/),
);
