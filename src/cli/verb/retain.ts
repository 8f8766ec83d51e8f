/** Does what policies say is due, or shows what that would be. */
import { SkeinError } from "../../core/error.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { RetainAction, RetainSkip, RetainReport } from "../../runtime/govern/retain.ts";
import type { Screen } from "../command/screen.ts";
import { bytes, count, oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const retain = verb({
  name: "retain",
  line: "Do what policies say is due: pack, expire, archive, delete.",
  args: [],
  options: {
    "dry-run": { type: "flag", short: "n", what: "only show what would be done, and why" },
    yes: { type: "flag", short: "y", what: "also by policies that are for every session there is" },
  },
  about: [
    'Without policies of your own, old records are packed and nothing is lost; "skein policy" sets others. ' +
      "Of several that are due for a session the strongest wins. A hold stops all but packing; a running " +
      "session is left alone; what forks share stays. Sessions that were opened to expire do.",
    "It works in small steps beside whatever else goes on, and can be stopped and run again at any time.",
  ],
  examples: [
    "skein retain --dry-run  # what would go, and why",
    "skein retain  # do it",
    "skein retain --yes --json  # for a nightly job",
  ],
  async run({ options, out, engine, untilStopped }) {
    const opened = await engine();
    const dryRun = options["dry-run"];
    if (!dryRun && !options.yes) await confirm(opened);
    const progress = out.progress();
    const report = await opened
      .retain({
        dryRun,
        everything: options.yes,
        signal: untilStopped(),
        progress: ({ sessions, done }) =>
          progress.show(`${plural(sessions, "session")}, ${count(done)} done`),
      })
      .finally(() => progress.end());
    await out.answer(report, () => linesOf(report, out));
  },
});

/** With the number of sessions that would be concerned now. */
async function confirm(engine: Engine): Promise<void> {
  const wide = (await engine.policies()).filter(({ everything }) => everything);
  if (wide.length === 0) return;
  const names = new Set(wide.map(({ name }) => name));
  const { done } = await engine.retain({ dryRun: true });
  const concerned = done.filter(({ policy }) => policy !== null && names.has(policy));
  const listed = [...names].map((name) => `"${oneLine(name)}"`).join(", ");
  throw new SkeinError(
    "refused",
    `${listed} would in time take every session there is; ` +
      `now it would take ${plural(concerned.length, "session")}`,
    { hint: "add --yes if that is what you want; --dry-run shows which" },
  );
}

/** Of each kind so many are shown; --json shows all. */
const shownMax = 20;

const words = {
  expire: ["expired", "would expire"],
  archive: ["archived", "would be archived"],
  delete: ["deleted", "would be deleted"],
  pack: ["packed", "would be packed"],
} as const;

function linesOf(report: RetainReport, out: Screen): string[] {
  const { dryRun, sessions, done, kept, bytesBefore, bytesAfter, stopped, swept } = report;
  const lines: string[] = [];
  for (const what of ["expire", "archive", "delete", "pack"] as const) {
    const concerned = done.filter((one) => one.do === what);
    if (concerned.length === 0) continue;
    lines.push(out.bold(`${words[what][dryRun ? 1 : 0]}: ${count(concerned.length)}${sum(concerned)}`));
    lines.push(...few(concerned.map(doneLine), out));
  }
  if (kept.length > 0) {
    lines.push(out.bold(`left as they are: ${count(kept.length)}`), ...few(kept.map(keptLine), out));
  }
  if (done.length === 0 && kept.length === 0) lines.push(`nothing is due for ${plural(sessions, "session")}`);
  if (!dryRun && bytesBefore !== null && bytesAfter !== null && done.length > 0)
    lines.push(`the store took ${bytes(bytesBefore)} and takes ${bytes(bytesAfter)}`);
  if (stopped) lines.push("stopped before the end; run it again to go on");
  else if (!dryRun && !swept)
    lines.push("somebody reads from the store all the time; run it again to finish");
  return lines;
}

const few = (lines: readonly string[], out: Screen): string[] => [
  ...lines.slice(0, shownMax).map((line) => `  ${line}`),
  ...(lines.length > shownMax
    ? [out.dim(`  and ${count(lines.length - shownMax)} more; --json shows all`)]
    : []),
];

function sum(list: readonly RetainAction[]): string {
  const records = list.reduce((total, one) => total + one.records, 0);
  if (records === 0) return "";
  const before = list.reduce((total, one) => total + one.bytesBefore, 0);
  const after = list.every((one) => one.bytesAfter === null)
    ? ""
    : ` to ${bytes(list.reduce((total, one) => total + (one.bytesAfter ?? 0), 0))}`;
  return `, ${plural(records, "record")}, ${bytes(before)}${after}`;
}

function doneLine({ session, policy, because, besides, records }: RetainAction): string {
  const by = policy === null ? "" : `policy ${oneLine(policy)}: `;
  const also = besides.length === 0 ? "" : `; also due by ${oneLine(besides.join(", "))}`;
  return `${session}  ${records === 0 ? "" : `${plural(records, "record")}, `}${by}${because}${also}`;
}

const keptLine = ({ session, do: what, policy, why }: RetainSkip): string =>
  `${session}  ${policy === null ? what : `policy ${oneLine(policy)}, ${what}`}: ${oneLine(why)}`;
