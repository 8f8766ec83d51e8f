/** Shows events of a session, to the end or following. */
import { eventTypes } from "../../core/catalog.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { eventInFull, eventLine } from "../format/event-line.ts";
import { present } from "../command/input.ts";
import { placeOf } from "../command/position.ts";
import type { Screen } from "../command/screen.ts";
import { verb } from "../command/verb.ts";

export const log = verb({
  name: "log",
  line: "Show the events of a session, or follow them live.",
  args: ["ID"],
  options: {
    from: { type: "seq", what: "from this position on" },
    to: { type: "seq", what: "up to this position" },
    since: { type: "time", what: "from this moment on" },
    until: { type: "time", what: "to just before this moment" },
    type: { type: "list", value: "TYPE", what: "only events of this type" },
    reverse: { type: "flag", short: "r", what: "the newest first" },
    limit: { type: "count", least: 1, short: "n", value: "N", what: "at most this many events" },
    follow: {
      type: "flag",
      short: "f",
      what: "continue with later events, of any process",
    },
    full: { type: "flag", what: "show whole contents, not one line an event" },
  },
  about: [
    "A TIME is a date, with a time or without (2026-11-01, 2026-11-01T09:30:00Z; without a zone it is " +
      "in yours), a length of time ago (90s, 30m, 2h, 1d), or milliseconds since 1970.",
  ],
  examples: [
    "skein log 4x8kz1 --from 10 --to 20 --json  # ten positions and one, for programs",
    "skein log 4x8kz1@12 --full  # one position, as a handoff names it",
    "skein log 4x8kz1 --since 2026-11-01T00:00:00Z  # since a moment",
    "skein log 4x8kz1 --reverse --limit 5 --full  # the last five, in full",
    "skein log 4x8kz1 -f --type input.received  # inputs as they come; Ctrl-C ends it",
  ],
  endsUnread: true,
  async run({ args, options, out, session, untilStopped }) {
    const { since, until, reverse, limit, follow, full } = options;
    checkRange(options);
    const types = options.type.flatMap((word) => word.split(",")).filter((word) => word !== "");
    const { session: found, seq } = await placeOf("log", args.ID, undefined, { session, out });
    const { fromSeq, toSeq } = rangeOf(options, seq);
    const events = found.events({
      ...present({ fromSeq, toSeq, since, until, limit }),
      ...(types.length === 0 ? {} : { types }),
      ...(reverse ? { reverse } : {}),
      ...(follow ? { follow, signal: untilStopped() } : {}),
    });
    let count = 0;
    for await (const event of events) {
      count++;
      if (out.json) await out.emit({ ...event, content: event.content ?? null });
      else
        for (const line of [eventLine(event, out), ...(full ? eventInFull(event, out) : [])])
          await out.line(line);
    }
    if (count === 0 && !follow) await sayNothing(out, found, types);
  },
});

/** One position, if the session word names one. */
function rangeOf(
  { from, to }: { readonly from: number | undefined; readonly to: number | undefined },
  seq: number | null,
) {
  if (seq === null) return { fromSeq: from, toSeq: to };
  if (from === undefined && to === undefined) return { fromSeq: seq, toSeq: seq };
  throw new SkeinError("invalid", "log: the position is given twice", {
    hint: "use ID@SEQ, or --from and --to, not both",
  });
}

function checkRange({
  from,
  to,
  since,
  until,
  reverse,
  follow,
}: {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly reverse: boolean;
  readonly follow: boolean;
}): void {
  const refuse = (message: string, hint: string): never => {
    throw new SkeinError("invalid", `log: ${message}`, { hint });
  };
  if (from !== undefined && to !== undefined && from > to) {
    refuse(
      `--from ${from} is greater than --to ${to}`,
      `swap them, or use --reverse to see the newest first`,
    );
  }
  if (since !== undefined && until !== undefined && since > until) {
    refuse("--since is later than --until", "swap them, or use --reverse to see the newest first");
  }
  if (reverse && follow) refuse("--reverse is not allowed with --follow", "omit --reverse or --follow");
}

async function sayNothing(out: Screen, session: Session, types: readonly string[]): Promise<void> {
  const { seq } = await session.head();
  const unknown = types.find((type) => !eventTypes.some((one) => one === type) && !type.startsWith("x."));
  const near = unknown === undefined ? undefined : nearest(unknown, eventTypes);
  if (unknown !== undefined)
    out.note(
      `no event type is named ${quote(unknown)}${near === undefined ? "" : `; did you mean ${near}?`}`,
    );
  out.note(`no event of ${session.id} fits; it ends at ${seq}`);
}
