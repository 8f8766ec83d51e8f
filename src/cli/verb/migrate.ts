/** Takes a session to another store, or to another model. */
import { SkeinError } from "../../core/error.ts";
import type { State } from "../../core/state.ts";
import type { MigrateReport } from "../../runtime/migrate.ts";
import type { Session } from "../../runtime/session.ts";
import { isThere, takeAway } from "../fresh-store.ts";
import { oneLine, plural } from "../text.ts";
import { verb } from "../verb.ts";

export const migrate = verb({
  name: "migrate",
  line: "Go on in another store, or with another model.",
  args: ["ID"],
  options: {
    to: { type: "text", value: "PATH", what: "the other store; it is made if it is not there" },
    model: { type: "text", value: "PROVIDER/MODEL", what: "the other model" },
  },
  about: [
    "In another store the session goes on as it is, with its ancestors and blobs; here it stays to be " +
      "read, and is written no more. If anything breaks on the way, the same command again finishes it. To " +
      'another machine it goes by a bundle: "skein export ID --move".',
    "For another model the context is made anew. What that model cannot be shown is named, and a " +
      "transcript that is too long for it is compressed first.",
  ],
  examples: [
    { command: "skein migrate 4x8kz1 --to ~/archive.db", what: "to another store" },
    { command: "skein migrate 4x8kz1 --model openai/gpt-5.2", what: "to another model" },
  ],
  async run({ args, options: { to, model }, out, session }) {
    if ((to === undefined) === (model === undefined)) {
      throw new SkeinError("invalid", "migrate: give --to or --model, and not both", {
        hint: "skein migrate ID --to PATH, or skein migrate ID --model PROVIDER/MODEL",
      });
    }
    if (to === "") {
      throw new SkeinError("invalid", "migrate: --to is empty", {
        hint: "give the path of the other store: --to PATH",
      });
    }
    const found = await session(args.ID);
    const report = await (to === undefined ? found.migrate({ model: model ?? "" }) : toStore(found, to));
    await out.answer(report, () => {
      if ("workspace" in report) {
        const { records, blobs } = report;
        const more = blobs === 0 ? "" : `, ${plural(blobs, "blob")}`;
        return [`${found.id} lives in ${oneLine(to ?? "")} now: ${plural(records, "record")}${more} copied`];
      }
      const { from, left, compacted, seq } = report;
      return [
        `${found.id} goes on with ${report.to}${from === null ? "" : ` in place of ${from}`}, from ${seq}`,
        ...(compacted ? ["its transcript was compressed first"] : []),
        ...left.map((one) => `left behind: ${oneLine(one)}`),
      ];
    });
  },
});

/** A session that has just been moved can go on only in that very store, so then the store stays. */
async function toStore(session: Session, to: string): Promise<MigrateReport> {
  if (isThere(to)) return session.migrate({ to });
  const elsewhere = isMoved(await session.fold());
  return session.migrate({ to }).catch(async (error: unknown) => {
    const unsure = error instanceof SkeinError && error.code === "unknown";
    const gone = !elsewhere && (unsure || (await session.fold().then(isMoved, () => true)));
    if (!gone) await takeAway(to);
    throw error;
  });
}

const isMoved = ({ standing }: State): boolean => standing.status === "moved";
