/** The findings of a scan for secrets, for people. */
import { isSharedLogId } from "../../core/ids.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { ScanFinding, ScanReport } from "../../runtime/govern/scan.ts";
import { grid } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { count, oneLine, plural } from "./text.ts";

const shownMax = 200;

/**
 * Null where it cannot be erased: bodies never are, a moved session is erased elsewhere, and the workspace
 * forgets separately.
 */
export function eraseCommand({ owner, seq, where, elsewhere }: ScanFinding): string | null {
  return where === "body" || elsewhere || isSharedLogId(owner) ? null : `skein erase ${owner} --seq ${seq}`;
}

export function scanLines({ sessions, records, findings, more }: ScanReport, out: Screen): string[] {
  const counted = `${plural(records, "record")} of ${plural(sessions, "session")}`;
  if (findings.length === 0) return [`${out.green("none")}: ${counted}`];
  const shown = findings.slice(0, shownMax);
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
    ...grid(out, ["WHERE", "TYPE", "KIND", "~PREVIEW"], rows),
    ...(left === 0 ? [] : [out.dim(`and ${count(left)} more`)]),
    `${out.red("found")}: ${plural(findings.length + more, "secret")} in ${counted}`,
    ...(commands.size === 0 ? [] : ["to take them out, and then change them where they are used:"]),
    ...[...commands].map((command) => `  ${command}`),
    ...waysOut(kept),
  ];
}

/** What to do about what cannot be erased, for each reason. */
function waysOut(kept: readonly ScanFinding[]): string[] {
  const moved = new Set(kept.flatMap(({ owner, elsewhere }) => (elsewhere ? [owner] : [])));
  const here = kept.filter(({ elsewhere }) => !elsewhere);
  const workspace = here.some(({ owner }) => isSharedLogId(owner));
  const bodies = here.some(({ where, owner }) => where === "body" && !isSharedLogId(owner));
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
