/** Converts a session between tools, without a store. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type {
  FoundTranscript,
  SourceFolder,
  TranscriptFormat,
  TranscriptReport,
  WrittenTranscript,
} from "../../transcripts/transcripts.ts";
import { openOutput } from "../command/output.ts";
import { verb } from "../command/verb.ts";
import { bytes, oneLine, plural } from "../format/text.ts";

export const convert = verb({
  name: "convert",
  line: "Convert a session of another tool, without a store.",
  args: ["FROM", "TO", "FILE"],
  options: {
    out: { type: "text", short: "o", value: "PATH", what: "the file to write; by default standard output" },
    session: { type: "text", value: "ID", what: "which session, for a file that holds several" },
    force: { type: "flag", what: "replace PATH if it exists" },
  },
  about: [
    "FROM: claude-code, codex, opencode, pi, gemini, chatgpt, claude-ai. TO: claude-code, codex, " +
      "opencode, pi, markdown, html, jsonl, ai-sdk, openai, anthropic.",
    "The report on standard error lists lines that do not parse, unknown record types, and parts that " +
      "TO cannot express. FILE is only read, and no path outside its folder is followed.",
  ],
  examples: [
    "skein convert claude-code codex 5560.jsonl --out rollout.jsonl  # continue in Codex",
    "skein convert chatgpt markdown export.zip --session 68a1-4f  # one conversation of an export, to read",
    "skein convert codex anthropic rollout.jsonl > messages.json  # messages for an API",
  ],
  endsUnread: true,
  async run({ args: { FROM: from, TO: to, FILE: path }, options, out, place, untilStopped }) {
    const { formatNamed, SourceFolder, checkTarget, writeTranscript, loadTranscript } =
      await import("../../transcripts/transcripts.ts");
    const format = formatNamed(from);
    // An unknown target is an error before anything is read.
    checkTarget(to);
    await using folder = new SourceFolder(path);
    const found = chooseSession(await format.find(folder), { path, from, session: options.session });
    const session = await readWithProgress(out, found, (progress) =>
      loadTranscript(folder, found, { progress }),
    );
    if (session.entries.length === 0) throw withoutMessages(path, format, session.plan.report);
    const file = await openOutput(options.out, out, { store: place, replace: options.force, untilStopped });
    const written = writeTranscript(to, session);
    const lines = [...reportLines(session.plan.report), ...sourceLines(folder), ...leftLines(to, written)];
    for (const line of lines) out.note(oneLine(line));
    const size = await file.write(chunksOf(written.text));
    if (options.out === undefined) return;
    const { left } = written;
    const report = session.plan.report;
    await out.answer(
      { file: options.out, from, to, bytes: size, entries: session.entries.length, left, report },
      () => [
        `wrote ${options.out ?? ""}: ${plural(session.entries.length, "entry", "entries")}, ${bytes(size)}`,
      ],
    );
  },
});

/** A file of another kind parses to no message; that does not make it an empty session. */
function withoutMessages(
  path: string,
  { title, expects }: TranscriptFormat,
  report: TranscriptReport,
): SkeinError {
  return new SkeinError("invalid", `convert: ${quote(path)}: no messages of ${title}; expected ${expects}`, {
    hint: [...reportLines(report).map(oneLine), "check FROM and FILE"].join("; "),
  });
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function readWithProgress<T>(
  out: { progress(): { show(text: string): void; end(): void } },
  found: FoundTranscript,
  read: (progress: (scanned: number) => void) => Promise<T>,
): Promise<T> {
  const progress = out.progress();
  try {
    return await read((scanned) => progress.show(`read ${bytes(scanned)} of ${bytes(found.bytes)}`));
  } finally {
    progress.end();
  }
}

function chooseSession(
  found: readonly FoundTranscript[],
  {
    path,
    from,
    session,
  }: { readonly path: string; readonly from: string; readonly session: string | undefined },
): FoundTranscript {
  const own = found.filter(({ sourceId, parentId }) =>
    session === undefined ? parentId === null : sourceId === session || sourceId.endsWith(session),
  );
  const [first] = own.length === 0 && session === undefined ? found : own;
  if (first === undefined)
    throw new SkeinError(
      "not-found",
      `convert: ${quote(path)} holds no ${from} session${session === undefined ? "" : ` ${quote(session)}`}`,
      {
        hint: found.length === 0 ? "check FROM and FILE" : `it has ${listed(found)}`,
      },
    );
  if (own.length > 1)
    throw new SkeinError("invalid", `convert: ${quote(path)} holds ${own.length} sessions`, {
      hint: `add --session with one of ${listed(own)}`,
    });
  return first;
}

function listed(found: readonly FoundTranscript[]): string {
  const ids = found.slice(0, 5).map(({ sourceId }) => sourceId);
  return found.length > 5 ? `${ids.join(", ")} and ${found.length - 5} more` : ids.join(", ");
}

function reportLines(report: TranscriptReport): string[] {
  const named = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([type, count]) => `${type} (${count})`)
      .join(", ");
  const first = report.damaged.slice(0, 5).map(({ range, reason }) => `${range.from}–${range.to}: ${reason}`);
  return [
    ...(report.damagedCount === 0 ? [] : [`${report.damagedCount} damaged: bytes ${first.join("; ")}`]),
    ...(Object.keys(report.unknownTypes).length === 0
      ? []
      : [`unknown record types: ${named(report.unknownTypes)}`]),
    ...(report.gaps === 0 ? [] : [plural(report.gaps, "missing parent record")]),
    ...(report.unpairedCalls === 0 ? [] : [`${plural(report.unpairedCalls, "call")} without a result`]),
    ...(report.missingAttachments === 0 ? [] : [plural(report.missingAttachments, "missing attachment")]),
  ];
}

const sourceLines = ({ refused }: SourceFolder): string[] =>
  refused.length === 0 ? [] : [`${refused.length} not followed: ${refused.slice(0, 5).join(", ")}`];

const leftLines = (to: string, { left }: WrittenTranscript): string[] =>
  left.length === 0 ? [] : [`not expressed in ${to}: ${left.join(", ")}`];
