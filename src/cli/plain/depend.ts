/** What a session depends on, and who depends on a thing. */
import { shortId } from "../../core/text/short-id.ts";
import { grid, plain } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { oneLine, plural } from "../format/text.ts";

const isStale = (now: string): boolean => now === "changed" || now === "missing";

const stateOf = (now: string, out: Screen): string =>
  isStale(now) ? out.red(now === "missing" ? "STALE (gone)" : "STALE") : now === "same" ? "fresh" : now;

export const dependPlain = [
  plain("session.deps", {
    prepare({ params }) {
      params.queries = true;
    },
    print(rows, { found: { id }, out }) {
      const json = { session: id, dependencies: rows };
      if (rows.length === 0) return { json, lines: [`${shortId(id)} has loaded and read nothing`] };
      const cells = rows.map(({ seq, kind, now, source, ranges, reads, tables }) => {
        const spans = ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
        const times = reads > 1 ? ` (${reads} times)` : "";
        const about = tables.length === 0 ? "" : ` [${tables.join(", ")}]`;
        const where = spans === "" ? "" : `:${spans}`;
        return [String(seq), kind, stateOf(now, out), `${oneLine(source)}${where}${about}${times}`];
      });
      const lines = grid(out, [">SEQ", "KIND", "NOW", "SOURCE"], cells);
      const stale = rows.filter(({ now }) => isStale(now)).length;
      return { json, lines: [...lines, ...(stale === 0 ? [] : [`${plural(stale, "source")} stale`])] };
    },
  }),
  plain("engine.affected", {
    print(rows, { out }) {
      if (rows.length === 0) return { json: { affected: rows }, lines: ["no session depends on it"] };
      const short = out.columns !== null;
      const cells = rows.map(({ session, seq, kind, now, source }) => [
        short ? shortId(session) : session,
        String(seq),
        kind,
        stateOf(now, out),
        oneLine(source),
      ]);
      return { json: { affected: rows }, lines: grid(out, ["ID", ">SEQ", "KIND", "NOW", "SOURCE"], cells) };
    },
  }),
];
