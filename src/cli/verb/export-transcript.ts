/** `skein export --format TOOL`: a session as a file that another tool opens, written or installed. */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type {
  ExportedTranscript,
  ExportTranscriptOptions,
} from "../../runtime/transfer/foreign-transcript.ts";
import { confirm } from "../chat/typed-lines.ts";
import { present } from "../command/input.ts";
import { openOutput } from "../command/output.ts";
import type { Screen } from "../command/screen.ts";
import { locateStore } from "../../store/registry.ts";
import { bytes, oneLine, plural } from "../format/text.ts";

interface ToolExport {
  readonly output: string | undefined;
  readonly force: boolean;
  readonly install: boolean;
  readonly cwd: string | undefined;
  readonly yes: boolean;
  readonly out: Screen;
  readonly place: string;
  readonly untilStopped: () => AbortSignal;
}

export async function exportForTool(
  session: Session,
  format: ExportTranscriptOptions["format"],
  given: ToolExport,
): Promise<void> {
  const { output, install, out } = given;
  checkInstall(session, format, given);
  const cwd = given.cwd === undefined ? undefined : realPath(given.cwd);
  const made = await session.exportTranscript({ format, ...present({ cwd }) });
  if (made.left.length > 0) out.note(oneLine(`not expressed in ${format}: ${made.left.join(", ")}`));
  const file = install && format !== "opencode" ? await installed(made, given) : await written(made, given);
  if (file === null) return;
  const { resumeCommand } = await import("../../transcripts/transcripts.ts");
  const { text, ...facts } = made;
  const counted = plural(made.entries, "entry", "entries");
  const size = Buffer.byteLength(text);
  // Claude Code and Codex find a session only in their own folders.
  const isFound = install || format === "pi" || format === "opencode";
  const resume = isFound ? resumeCommand(format, made, { file: resolve(file), cwd: made.cwd }) : null;
  if (install && made.cwd !== null && !existsSync(made.cwd))
    out.note(`the working directory ${oneLine(made.cwd)} does not exist here; --cwd DIR sets another`);
  await out.answer(
    { ...facts, file, bytes: size, installed: install && output === undefined, resume },
    () => [
      `wrote ${file}: ${format} of ${session.id}, ${counted}, ${bytes(size)}`,
      ...(resume === null ? [] : [`to continue: ${oneLine(resume)}`]),
      ...(isFound || typeof made.sessionId !== "string"
        ? []
        : [`--install puts it where ${format} finds it`]),
    ],
  );
}

/** Tools know a project by the real path of its directory. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function checkInstall(session: Session, format: string, { install, output, yes }: ToolExport): void {
  const file = `skein export ${session.id} --format ${format} -o FILE`;
  const stop = (problem: string, hint: string): never => {
    throw new SkeinError("invalid", `export: ${problem}`, { hint });
  };
  if (yes && !install) stop("--yes requires --install", "add --install");
  if (!install) return;
  if (["ai-sdk", "openai", "anthropic"].includes(format))
    stop(`--install: expected claude-code, codex or pi, got ${format}`, `write a file: ${file}`);
  if (format === "opencode" && output === undefined)
    stop("--install: opencode imports a file into its database", `${file}; then: opencode import FILE`);
  if (format !== "opencode" && output !== undefined)
    stop("specify --install or --output, not both", "omit --output");
}

async function installed(made: ExportedTranscript, { yes, out }: ToolExport): Promise<string> {
  const { installPath, installTranscript } = await import("../../transcripts/transcripts.ts");
  const machine = { home: homedir(), env: process.env };
  const path = installPath(made.format, made, machine);
  if (!yes && (out.json || !(await confirm(`Write ${oneLine(path)}?`))))
    throw new SkeinError("refused", `export: ${path} would be written`, {
      hint: "add --yes to confirm; nothing was written",
    });
  return installTranscript(made.format, made, machine);
}

/** Null when it went to standard output, which the answer must not follow. */
async function written(made: ExportedTranscript, given: ToolExport): Promise<string | null> {
  const { output, force, out, place, untilStopped } = given;
  const file = await openOutput(output, out, {
    store: (await locateStore(place)).files[0] ?? "",
    replace: force,
    untilStopped,
  });
  await file.write(chunksOf(made.text));
  return output ?? null;
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
