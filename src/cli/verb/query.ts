/** Read-only SQL over the documented views. */
import { readText } from "../command/input.ts";
import { table } from "../format/table.ts";
import { plain, oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const query = verb({
  name: "query",
  line: "Run one read-only SELECT over the views of the store.",
  args: ["SQL?"],
  options: {},
  about: [
    "The views are sessions, events, tool_calls, items, decisions and costs; docs/views.md describes them. " +
      "Without SQL, or with -, it is read from standard input.",
  ],
  examples: [
    `skein query "SELECT session, key, value FROM items WHERE kind = 'fact'"  # every fact there is`,
    'skein query "SELECT key, decision, because FROM decisions" --json  # an object a row',
    'skein query "SELECT type, count(*) AS events FROM events GROUP BY type"  # what the log is made of',
  ],
  endsUnread: true,
  async run({ args, out, engine }) {
    const sql = await readText(args.SQL);
    const { columns, rows } = await (await engine()).query(sql);
    const names = distinct(columns);
    if (out.json) {
      for (const row of rows)
        await out.emit(Object.fromEntries(names.map((name, place) => [name, row[place] ?? null])));
      return;
    }
    const cells = rows.map((row) => row.map((value) => oneLine(plain(value))));
    const shown = names.map((name, place) => ({
      title: oneLine(name),
      flexible: true,
      ...(rows.length > 0 && rows.every((row) => typeof row[place] === "number")
        ? { align: "right" as const }
        : {}),
    }));
    for (const line of table(shown, cells, { width: out.columns, heading: out.bold })) await out.line(line);
    out.note(out.dim(plural(rows.length, "row")));
  },
});

/** Two columns of one name would be one field of an object. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}
