/** Imports a bundle, or the sessions of another tool. */
import { createReadStream, statSync } from "node:fs";
import { homedir } from "node:os";
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { ImportReport } from "../../runtime/transfer/import.ts";
import type { SessionReview as Review } from "../../runtime/govern/review.ts";
import { takeAway } from "../open/fresh-store.ts";
import { bindingText } from "../format/binding-word.ts";
import { ownPublicKey, trustedKeys } from "../open/keys.ts";
import { storeExists } from "../open/open-engine.ts";
import { ruleText } from "../format/state-lines.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const importVerb = verb({
  name: "import",
  line: "Import a bundle, or the sessions of Claude Code, Codex and other tools.",
  args: ["SOURCE?", "PATH?"],
  usages: ["skein import [FILE]", "skein import TOOL [PATH]"],
  options: {
    signed: { type: "flag", what: 'only if a key that you trust has signed it ("skein keys")' },
    "dry-run": { type: "flag", what: "list the tool's sessions without importing" },
    project: { type: "text", what: "only sessions whose working directory contains this" },
    since: { type: "time", what: "only sessions that changed since" },
    text: { type: "text", what: "only sessions that contain this" },
    watch: { type: "flag", what: "follow new and growing sessions until Ctrl-C" },
    again: { type: "flag", what: "import rewritten or continued sessions as new ones" },
    "without-original": { type: "flag", what: "do not keep the tool's own file beside the session" },
    verbatim: { type: "flag", what: "keep secrets as they are; asks first" },
    yes: { type: "flag", short: "y", what: "without a confirmation" },
  },
  about: [
    "TOOL is claude-code, codex, opencode, pi, gemini, chatgpt, claude-ai, or auto for all. Without a " +
      "path its own folders are read. Each session arrives suspended, without bindings, triggers or rules, " +
      "and nothing of it runs. Importing again adds only what is new. Secrets are redacted on the way in.",
    "With --watch the sessions are followed live: one line for each change. Nothing of them runs.",
    "A copy can be read and forked, not written. A session that was exported with --move lives here " +
      "from now on. Importing the same bundle again changes nothing. Without a file, or with -, standard " +
      "input is read.",
    "A session that moves here runs at once only if your own key or one that you trust signed the bundle. " +
      "Any other arrives suspended: its bindings, rules and queued input are listed for review, and " +
      '"skein activate ID" lets it run.',
  ],
  examples: [
    "skein import claude-code --dry-run  # what Claude Code has on this machine",
    "skein import codex ~/.codex/sessions --since 2026-11-01  # one tool's newer sessions",
    "skein import auto --watch  # follow all tools on this machine; Ctrl-C ends it",
    "skein import x.skein  # from a file",
    "ssh box skein export 4x8kz1 | skein import  # from another machine",
    "skein import x.skein --signed  # only from a trusted signer",
  ],
  async run({ args: { SOURCE: file, PATH: path }, options, out, engine, place, nowMs, untilStopped }) {
    const { toolNames, importFrom, followFrom } = await import("./import-transcripts.ts");
    // A bundle of that name is a file; a folder of that name is not a bundle.
    const isBundle = path === undefined && statSync(file ?? "", { throwIfNoEntry: false })?.isFile();
    if (file !== undefined && toolNames().includes(file) && isBundle !== true) {
      checkWatch(options);
      const { project, since: sinceMs, text, again, verbatim } = options;
      if (verbatim && !options["dry-run"] && !options.yes && (out.json || !(await keepsSecrets())))
        throw secretsKept();
      const filters = present({ path, project, sinceMs, text });
      const machine = { home: homedir(), env: process.env, nowMs };
      const from = {
        tool: file,
        ...filters,
        machine,
        verbatim,
        withoutOriginal: options["without-original"],
      };
      // A dry run reads the tool's files only: it needs no store.
      if (options["dry-run"]) return importFrom(null, out, { ...from, dryRun: true, again });
      const opened = await engine({ create: true });
      if (options.watch)
        return followFrom(opened, out, { ...from, signal: untilStopped({ isRegularEnd: true }) });
      return importFrom(opened, out, { ...from, again });
    }
    if (path !== undefined) {
      throw new SkeinError("invalid", `import: TOOL: expected one of ${toolNames().join(", ")}`, {
        hint: "a bundle takes one argument: skein import FILE",
      });
    }
    const trusted = trustedKeys(process.env);
    const source = file === undefined || file === "-" ? process.stdin : createReadStream(file);
    const fresh = !(await storeExists(place));
    const opened = await engine({ create: true });
    const own = ownPublicKey(process.env);
    const known = [...trusted.keys(), ...(own === null ? [] : [own])];
    const keys = options.signed ? { signedBy: known } : { trusted: known };
    const report = await opened
      .import(readable(source, file, toolNames()), keys)
      .catch(async (error: unknown) => {
        if (fresh) {
          await opened.close();
          await takeAway(place);
        }
        throw error;
      });
    const signer =
      report.signedBy === null
        ? null
        : report.signedBy === own
          ? "you"
          : (trusted.get(report.signedBy) ?? null);
    await out.answer({ ...report, signer }, () => lines(report, signer));
    if (report.warning !== null) out.note(report.warning);
    return undefined;
  },
});

function checkWatch(options: Readonly<Record<"watch" | "dry-run" | "again", boolean>>): void {
  if (!options.watch || !(options["dry-run"] || options.again)) return;
  const other = options.again ? "--again" : "--dry-run";
  throw new SkeinError("invalid", `import: ${other} is not allowed with --watch`, {
    hint: `run it with ${other} first, then with --watch`,
  });
}

/** Asks on a terminal only. */
async function keepsSecrets(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const { typedLines } = await import("../chat/typed-lines.ts");
  const end = (): void => lines.close();
  using lines = typedLines({ interrupted: end, ended: end });
  await lines.prompt("Passwords and keys in the transcripts will be stored as they are. Continue? [y/N] ");
  return /^y(es)?$/i.test((await lines.next())?.trim() ?? "");
}

const secretsKept = (): SkeinError =>
  new SkeinError("refused", "import: --verbatim would store secrets as they are", {
    hint: "add --yes to confirm, or leave --verbatim out; nothing was imported",
  });

async function* readable(
  source: AsyncIterable<unknown>,
  file = "standard input",
  tools: readonly string[],
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of source) yield chunk as Buffer;
  } catch (cause) {
    if (!(cause instanceof Error) || !("syscall" in cause)) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new SkeinError(missing ? "not-found" : "invalid", `${quote(file)} cannot be read`, {
      hint: missing ? `check the path, or name a tool: ${tools.join(", ")}` : "check the path",
      cause,
    });
  }
}

function lines(report: ImportReport, signer: string | null): string[] {
  const { session, project, as, sessions, records, blobs, already, signedBy, suspended } = report;
  const others = sessions.length - 1;
  const what =
    project === null
      ? `${session}${others === 0 ? "" : ` and ${plural(others, "fork")}`}`
      : `${project} with ${plural(sessions.length, "session")}`;
  const known = signer === null ? "which is not trusted" : `trusted as ${oneLine(signer)}`;
  const signed = signedBy === null ? "it is not signed" : `signed by ${signedBy}, ${known}`;
  const came = `${plural(records, "record")}${blobs === 0 ? "" : `, ${plural(blobs, "blob")}`}`;
  const held = suspended
    ? [
        "it is suspended: no trusted key signed it. Review what it would act with, then: " +
          `skein activate ${session}`,
      ]
    : [];
  const listed = suspended || as === "copy" ? report.review.flatMap(reviewLines) : [];
  if (already) return [`${what}: all of it was here already`, signed, ...held, ...listed];
  return [
    `imported ${what}: ${came}`,
    as === "own" ? "it lives here now" : "it is a copy: read it, or fork it to continue",
    signed,
    ...held,
    ...listed,
  ];
}

/** What a session would act with, a line each. */
function reviewLines({ session, bindings, rules, triggers, input, waiting, calls }: Review): string[] {
  const json = (value: unknown): string => oneLine(JSON.stringify(value));
  const rows = [
    ...bindings.map(
      (one) => `  binding  ${bindingText(one)}  ${one.to === null ? "(erased)" : json(one.to)}`,
    ),
    ...rules.map(
      ({ pattern, ...rule }) =>
        `  rule     ${oneLine(ruleText(rule))}${pattern === undefined ? "" : ` ${json(pattern)}`}`,
    ),
    ...triggers.map(({ name, kind }) => `  trigger  ${kind} ${oneLine(name)}`),
    ...calls.map(({ tool, phase }) => `  call     ${oneLine(tool)} (${phase})`),
    ...input.map(({ seq, text }) => `  input    ${seq}: ${oneLine(text)}`),
    ...(waiting > input.length ? [`  input    and ${waiting - input.length} more`] : []),
  ];
  return rows.length === 0 ? [] : [`${session} has:`, ...rows];
}
