/** Full-text search over everything that was said. */
import { shortId } from "../../core/text/short-id.ts";
import { present } from "../command/input.ts";
import { ago, exact } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const search = verb({
  name: "search",
  line: "Find events by the words in them, the latest first.",
  args: ["WORDS..."],
  options: {
    session: { type: "text", value: "ID", what: "only in this session" },
    limit: { type: "count", least: 1, short: "n", value: "N", what: "at most so many; by default 20" },
  },
  about: [
    "An event is found when it holds every word; word* finds words that begin so. MIND says whether the " +
      "session still knows it: live, rewound (away), or compacted (in the context).",
  ],
  examples: [
    "skein search base rate  # in all sessions",
    'skein search "migrat*" --session 4x8kz1  # beginnings of words, in one session',
  ],
  endsUnread: true,
  async run({ args, options, out, engine, nowMs }) {
    const { session, limit } = options;
    const hits = await (await engine()).search(args.WORDS.join(" "), present({ session, limit }));
    if (out.json) {
      for (const hit of hits) await out.emit(hit);
      return;
    }
    if (hits.length === 0) return out.note("nothing found");
    const short = out.columns !== null;
    const columns = [
      { title: "ID" },
      { title: "SEQ", align: "right" as const },
      { title: "WHEN", paint: out.dim },
      { title: "TYPE" },
      { title: "MIND" },
      { title: "TEXT" },
    ];
    const rows = hits.map((hit) => [
      short ? shortId(hit.session) : hit.session,
      String(hit.seq),
      short ? ago(hit.at, nowMs) : exact(hit.at),
      oneLine(hit.type),
      hit.mind,
      oneLine(hit.snippet),
    ]);
    for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
  },
});
