/** The tables that a SQL statement names, by its words alone: enough to find who depends on a table. */

/** Texts and comments are skipped; a name may be plain, or in quotes, backticks or brackets. */
const token = new RegExp(
  [
    /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//,
    /"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]/,
    /([\p{L}_][\p{L}\p{N}_$]*)|(\S)/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const leading: ReadonlySet<string> = new Set(["from", "join", "into", "update", "table"]);
const skipped: ReadonlySet<string> = new Set(["only", "lateral", "if", "not", "exists", "select", "values"]);
const ends: ReadonlySet<string> = new Set([
  "where",
  "group",
  "order",
  "limit",
  "on",
  "set",
  "using",
  "union",
]);
/** Names that a WITH clause defines. */
const common = /([\p{L}_][\p{L}\p{N}_$]*)(?:\s*\([^()]*\))?\s+as\s*(?:not\s+)?(?:materialized\s*)?\(/giu;
const tablesMax = 50;

/** In lower case, without a schema, each once, in order of appearance. */
export function tablesIn(sql: string): readonly string[] {
  const own = /^\s*with\b/i.test(sql)
    ? new Set([...sql.matchAll(common)].map(([, name = ""]) => name.toLowerCase()))
    : new Set<string>();
  const tables = new Set<string>();
  /** `name`: one is expected. `dot`: one just came. `part`: its rest comes. `list`: a comma may follow. */
  let next = "none" as "name" | "dot" | "part" | "list" | "none";
  let last = "";
  for (const [, quoted, ticked, bracketed, plain, sign] of sql.matchAll(token)) {
    const name = (plain ?? quoted?.replaceAll('""', '"') ?? ticked ?? bracketed)?.toLowerCase();
    if (name === undefined) {
      if (sign === "." && next === "dot") next = "part";
      else if (sign === ",") next = next === "dot" || next === "list" ? "name" : next;
      else if (sign !== undefined) next = "none";
    } else if (next === "part") {
      tables.delete(last);
      tables.add(name);
      [next, last] = ["dot", name];
    } else if (plain !== undefined && leading.has(name)) next = "name";
    else if (next === "name" && !(plain !== undefined && skipped.has(name))) {
      tables.add(name);
      [next, last] = ["dot", name];
    } else if (next === "dot" || next === "list")
      next = plain !== undefined && ends.has(name) ? "none" : "list";
    else if (next === "name" && name === "select") next = "none";
    if (tables.size >= tablesMax) break;
  }
  return [...tables].filter((one) => !own.has(one));
}
