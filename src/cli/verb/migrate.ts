/** Moves a session to another store or another model, or all sessions to another store. */
import { SkeinError } from "../../core/error.ts";
import type { State } from "../../core/state.ts";
import type { MigrateReport } from "../../runtime/transfer/migrate.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { takeAway } from "../open/fresh-store.ts";
import { allMoved, movingText } from "../format/move-text.ts";
import { storeExists } from "../open/open-engine.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb, type VerbCall, type Options } from "../command/verb.ts";
import { shownPlace } from "../../runtime/read/move-target.ts";

const options = {
  to: {
    type: "text",
    value: "STORE",
    what: "the other store: a path or a URL; created if missing",
  },
  model: { type: "text", value: "PROVIDER/MODEL", what: "the other model" },
  all: { type: "flag", what: "every session of the store, with the workspace's data" },
  "dry-run": { type: "flag", short: "n", what: "with --all: only show what would move" },
  wait: { type: "span", value: "SPAN", what: "with --all: how long to wait for running sessions" },
} as const satisfies Options;

type MigrateCall = VerbCall<typeof options, readonly ["ID?"]>;

export const migrate = verb({
  name: "migrate",
  line: "Continue in another store, or with another model.",
  args: ["ID?"],
  options,
  about: [
    "In another store the session continues unchanged, with its ancestors and blobs; here it " +
      "becomes read-only. If anything breaks on the way, the same command again finishes it. To " +
      'another machine it moves by a bundle: "skein export ID --move".',
    "With --all every session moves, with agents, memory, policies and templates. Each lives in one " +
      "store at any moment, and every hash is read back there first. After an interruption, even by " +
      "kill -9, the same command continues; it sends nothing twice. Running sessions are listed and " +
      "left, and the exit code is 1: run it again, or give --wait.",
    "For another model the context is rendered again. What that model cannot be shown is named, and " +
      "a transcript that is too long for it is compressed first.",
  ],
  examples: [
    "skein migrate 4x8kz1 --to ~/archive.db  # to another store",
    "skein migrate 4x8kz1 --model openai/gpt-6-sol  # to another model",
    "skein migrate --all --to ~/team.db --dry-run  # what would move",
    "skein migrate --all --to postgres://skein@db/skein --wait 1m  # a whole store",
  ],
  run: (call) => (call.options.all || call.args.ID === undefined ? all(call) : one(call)),
});

async function one({
  args,
  options: { to, model, wait, ...rest },
  out,
  session,
}: MigrateCall): Promise<number> {
  if (rest["dry-run"] || wait !== undefined) {
    throw new SkeinError("invalid", "migrate: --dry-run and --wait require --all", {
      hint: "skein migrate --all --to STORE --dry-run",
    });
  }
  if ((to === undefined) === (model === undefined)) {
    throw new SkeinError("invalid", "migrate: specify --to or --model, not both", {
      hint: "skein migrate ID --to STORE, or skein migrate ID --model PROVIDER/MODEL",
    });
  }
  if (to === "") {
    throw new SkeinError("invalid", "migrate: --to: the path is empty", {
      hint: "pass the path of the other store: --to PATH",
    });
  }
  const found = await session(args.ID ?? "");
  const report = await (to === undefined ? found.migrate({ model: model ?? "" }) : toStore(found, to));
  await out.answer(report, () => {
    if ("workspace" in report) {
      const { records, blobs } = report;
      const copied = `${plural(records, "record")}${blobs === 0 ? "" : `, ${plural(blobs, "blob")}`} copied`;
      return [`${found.id} lives in ${oneLine(shownPlace(to ?? ""))} now: ${copied}`];
    }
    const { from, left, compacted, seq } = report;
    return [
      `${found.id} continues with ${report.to}${from === null ? "" : ` in place of ${from}`}, from ${seq}`,
      ...(compacted ? ["its transcript was compressed first"] : []),
      ...left.map((one) => `left behind: ${oneLine(one)}`),
    ];
  });
  return 0;
}

async function all({ args, options, out, engine, untilStopped }: MigrateCall): Promise<number> {
  const { to = "", model, wait } = options;
  if (!options.all || args.ID !== undefined || model !== undefined || to === "") {
    throw new SkeinError("invalid", "migrate: specify the ID of a session, or --all and --to", {
      hint: "skein migrate ID --to STORE, or skein migrate --all --to STORE",
    });
  }
  const opened = await engine();
  const progress = out.progress();
  const report = await opened
    .migrate({
      to,
      dryRun: options["dry-run"],
      ...(wait === undefined ? {} : { waitMs: wait }),
      signal: untilStopped(),
      progress: (at) => progress.show(movingText(at)),
    })
    .finally(() => progress.end());
  await out.answer(report, () => allMoved(report, shownPlace(to), out));
  return report.left.length === 0 && !report.stopped ? 0 : 1;
}

/** A session that has just been moved can continue only in that very store, so then the store stays. */
async function toStore(session: Session, to: string): Promise<MigrateReport> {
  if (await storeExists(to)) return session.migrate({ to });
  const elsewhere = isMoved(await session.fold());
  return session.migrate({ to }).catch(async (error: unknown) => {
    const unsure = error instanceof SkeinError && error.code === "unknown";
    const gone = !elsewhere && (unsure || (await session.fold().then(isMoved, () => true)));
    if (!gone) await takeAway(to);
    throw error;
  });
}

const isMoved = ({ standing }: State): boolean => standing.status === "moved";
