/** Lists the heads of all logs, and keeps the root outside the store. */
import { existsSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { readHeads } from "../../runtime/govern/read-heads.ts";
import { anchorProblems } from "../../runtime/govern/verify-all.ts";
import { checkAnchor, git, readAnchor, writeAnchor } from "../open/anchor-file.ts";
import { plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const usage = "usage: skein anchor --to FILE|git|URL, or skein anchor accept --reason TEXT";

export const anchor = verb({
  name: "anchor",
  line: "List the heads of all logs, and keep the root outside the store.",
  args: ["ACTION?"],
  usages: ["skein anchor [--to PLACE]", "skein anchor accept --reason TEXT [--anchor FILE]"],
  options: {
    to: {
      type: "text",
      value: "PLACE",
      what: "a file; git, for a note on the current commit; or https://…, which it is posted to",
    },
    "allow-private": { type: "flag", what: "with --to https://…: also where only this network can go" },
    reason: { type: "text", value: "TEXT", what: "with accept: why records are missing" },
    anchor: {
      type: "text",
      value: "FILE",
      what: "with accept: an anchor that the store no longer reaches, or git",
    },
  },
  about: [
    "The list is kept in the workspace's log, signed with your key if you have one (skein keys " +
      "new). Workers make one every 10 minutes. skein verify checks every log against the lists, and " +
      "with --anchor also that the store as a whole was not rolled back.",
    "After a restore from a backup, skein verify reports what is missing. skein anchor accept " +
      "--reason TEXT accepts the logs as they are; the workspace's log records who did so, and why.",
  ],
  examples: [
    "skein anchor --to /mnt/elsewhere/heads.json  # to a file on another machine",
    "skein anchor --to git  # as a note of the current commit, under refs/notes/skein",
    'skein anchor accept --reason "restored the backup of Monday" --anchor heads.json  ' +
      "# after a deliberate restore",
  ],
  async run({ args, options, out, engine }) {
    const { to, reason } = options;
    if (args.ACTION === "accept") {
      if (to !== undefined)
        throw new SkeinError("invalid", "anchor accept: --to is not allowed", { hint: usage });
      if (reason === undefined)
        throw new SkeinError("invalid", "anchor: --reason is required", { hint: usage });
      const opened = await engine();
      const lost = options.anchor === undefined ? null : await readAnchor(options.anchor);
      if (lost !== null) checkAnchor(internalsOf(opened).store, lost);
      const named = lost === null ? {} : { anchor: { seq: lost.seq, hash: lost.hash } };
      const accepted = await opened.acceptAnchor({ reason, ...named });
      const { logs } = accepted;
      return out.answer(accepted, () => [
        logs.length === 0 ? "accepted" : `accepted ${plural(logs.length, "log")} as they are now`,
        ...logs.map((log) => `  ${log}`),
      ]);
    }
    if (args.ACTION !== undefined || reason !== undefined || options.anchor !== undefined) {
      throw new SkeinError("invalid", `anchor: unexpected ${quote(args.ACTION ?? "--reason or --anchor")}`, {
        hint: usage,
      });
    }
    const opened = await engine();
    const isUrl = to !== undefined && /^https?:\/\//i.test(to);
    if (to !== undefined && !isUrl) await checkReplaced(opened, to);
    const allowPrivate = options["allow-private"];
    const made = await opened.anchor(isUrl ? { url: to, allowPrivate } : {});
    if (to !== undefined && !isUrl) await writeAnchor(to, made);
    const signed = made.publicKey === null ? "not signed" : `signed by ${made.publicKey}`;
    await out.answer(made, () => [
      `root ${made.root}`,
      `record ${made.seq} of ${made.workspace}, ${signed}`,
      ...(to === undefined ? [] : [`kept ${to === git ? "as a git note" : `at ${to}`}`]),
    ]);
    if (made.publicKey === null && !out.json)
      out.note('"skein keys new" makes a key that signs lists of heads');
  },
});

/** An anchor that the store no longer reaches is evidence, and is not overwritten. */
async function checkReplaced(engine: Engine, to: string): Promise<void> {
  if (to === git || !existsSync(to)) return;
  const before = await readAnchor(to);
  const { store } = internalsOf(engine);
  checkAnchor(store, before);
  const problems = await anchorProblems(store, await readHeads(store, null), before);
  if (problems.length === 0) return;
  throw new SkeinError("refused", `anchor: the record anchored in ${quote(to)} is missing from the store`, {
    hint:
      `see skein verify --anchor ${to}; after a deliberate restore: ` +
      `skein anchor accept --reason TEXT --anchor ${to}`,
  });
}
