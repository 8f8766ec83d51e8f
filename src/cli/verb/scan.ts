/** Finds secrets that got into the store earlier. */
import { shortId } from "../../core/text/short-id.ts";
import type { ScanFinding, ScanReport } from "../../runtime/govern/scan.ts";
import { isWorkspaceId } from "../../core/ids.ts";
import type { Screen } from "../command/screen.ts";
import { notLookedFor } from "../open/secrets.ts";
import { table } from "../format/table.ts";
import { count, oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const shownMax = 200;

export const scan = verb({
  name: "scan",
  line: "Find secrets that got into the store earlier.",
  args: ["ID?"],
  options: {},
  about: [
    "Looks for values that are registered as secret, and for what looks like one, in everything that was " +
      "said and in text files that were kept. It only reads, never shows a value, says how to erase each " +
      "find, and exits with 1 when there is any. See docs/secrets.md for what is registered.",
  ],
  examples: [
    "skein scan  # every session of the store",
    "skein scan 4x8kz1  # one session, with what it shares with its parents",
    "skein scan --json  # for a program, one object",
  ],
  async run({ args, out, engine }) {
    const opened = await engine();
    const progress = out.progress();
    let report: ScanReport;
    try {
      report = await opened.scan({
        ...(args.ID === undefined ? {} : { session: args.ID }),
        progress: ({ records, sessions }) =>
          progress.show(`scanned ${plural(records, "record")} of ${plural(sessions, "session")}`),
      });
    } finally {
      progress.end();
    }
    const findings = report.findings.map((found) => ({ ...found, erase: eraseCommand(found) }));
    const unknown = notLookedFor(process.env);
    await out.answer({ ...report, findings, notLookedFor: unknown }, () => [
      ...lines(report, out),
      ...unknown.map(({ name, why }) => `not looked for: ${name} of secrets.names ${why}`),
    ]);
    return report.findings.length === 0 ? 0 : 1;
  },
});

/**
 * Null where it cannot be erased: bodies never are, what lives elsewhere is erased there, and the workspace
 * has its own ways to forget.
 */
function eraseCommand({ owner, seq, where, elsewhere }: ScanFinding): string | null {
  return where === "body" || elsewhere || isWorkspaceId(owner) ? null : `skein erase ${owner} --seq ${seq}`;
}

function lines({ sessions, records, findings, more }: ScanReport, out: Screen): string[] {
  const counted = `${plural(records, "record")} of ${plural(sessions, "session")}`;
  if (findings.length === 0) return [`${out.green("none")}: ${counted}`];
  const shown = findings.slice(0, shownMax);
  const columns = [
    { title: "WHERE" },
    { title: "TYPE" },
    { title: "KIND" },
    { title: "PREVIEW", paint: out.dim },
  ];
  const rows = shown.map(({ session, seq, type, kind, registered, preview }) => [
    `${out.columns === null ? session : shortId(session)}@${seq}`,
    oneLine(type),
    registered ? kind : `${kind}?`,
    oneLine(preview),
  ]);
  const left = findings.length - shown.length + more;
  const commands = new Set(shown.flatMap((found) => eraseCommand(found) ?? []));
  const kept = shown.filter((found) => eraseCommand(found) === null);
  return [
    ...table(columns, rows, { width: out.columns, heading: out.bold }),
    ...(left === 0 ? [] : [out.dim(`and ${count(left)} more`)]),
    `${out.red("found")}: ${plural(findings.length + more, "secret")} in ${counted}`,
    ...(commands.size === 0 ? [] : ["to take them out, and then change them where they are used:"]),
    ...[...commands].map((command) => `  ${command}`),
    ...waysOut(kept),
  ];
}

/** What to do about what cannot be erased, for each reason that there is. */
function waysOut(kept: readonly ScanFinding[]): string[] {
  const moved = new Set(kept.flatMap(({ owner, elsewhere }) => (elsewhere ? [owner] : [])));
  const here = kept.filter(({ elsewhere }) => !elsewhere);
  const workspace = here.some(({ owner }) => isWorkspaceId(owner));
  const bodies = here.some(({ where, owner }) => where === "body" && !isWorkspaceId(owner));
  return [
    ...(moved.size === 0
      ? []
      : ["what lives in another store: erase it there, and delete what is left here:"]),
    ...[...moved].map((owner) => `  skein delete ${owner}`),
    ...(bodies
      ? ["what stands in a key or a label cannot be erased: delete the session, and change the secret"]
      : []),
    ...(workspace
      ? [
          "what the workspace holds: add a new version of the agent, or skein memory forget KEY --erase; " +
            "change the secret",
        ]
      : []),
  ];
}
