/** Exports a session: as an importable bundle, as its records, or as a page for people. */
import { exportFormats } from "../../call/field.ts";
import { SkeinError } from "../../core/error.ts";
import { isProjectId } from "../../core/ids.ts";
import { errorText } from "../../core/first-error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Store } from "../../store/port.ts";
import { present } from "../command/input.ts";
import { locateStore } from "../../store/registry.ts";
import { openOutput } from "../command/output.ts";
import { isUnread } from "../command/screen.ts";
import { bytes, jsonText } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { exportForTool } from "./export-transcript.ts";

export const exportVerb = verb({
  name: "export",
  line: "Write a session to a file: to take elsewhere, to verify, or to read.",
  args: ["ID"],
  options: {
    format: {
      type: "text",
      choices: ["bundle", "jsonl", "markdown", "html", ...exportFormats],
      what: "by default bundle",
    },
    output: {
      type: "text",
      short: "o",
      value: "FILE",
      what: "the file; by default, and with -, standard output",
    },
    force: { type: "flag", what: "replace an existing FILE; a store is never replaced" },
    "with-forks": { type: "flag", what: "its forks, and theirs, in the same bundle" },
    move: { type: "flag", what: "the session moves with the bundle: it becomes read-only here" },
    to: { type: "text", value: "WORKSPACE", what: "with --move: the only workspace that may take it over" },
    sign: { type: "flag", what: 'sign it with your key ("skein keys")' },
    install: { type: "flag", what: "put it where claude-code, codex or pi looks for its sessions" },
    cwd: { type: "text", value: "DIR", what: "the session's working directory in the other tool" },
    yes: { type: "flag", short: "y", what: "with --install: without a confirmation" },
  },
  about: [
    "A bundle holds everything: records, shared parts of ancestors, blobs. Without --move it is " +
      'imported as a copy, which can be read and forked. docs/bundle-format.md describes it; "skein ' +
      'import" reads it.',
    "With the whole id of a project (prj_…), the bundle has the project and all its sessions, and is " +
      "imported as a copy.",
    "jsonl is the records exactly as they are stored, one a line; docs/log-format.md says how to " +
      "verify them without Skein. markdown and html are for people; html is one self-contained file.",
    "claude-code, codex, opencode and pi write a file that the tool opens and resumes: the conversation on " +
      "the session's current path, with calls and results. ai-sdk, openai and anthropic write the messages " +
      "of an API. What the format cannot express is listed on standard error. --install never replaces a " +
      "file of the tool.",
  ],
  examples: [
    "skein export 4x8kz1 > x.skein  # a copy of the session",
    "skein export 4x8kz1 --move -o x.skein  # the session itself, for another machine",
    "skein export 4x8kz1 --format html -o session.html  # a page to read",
    "skein export 4x8kz1 --format jsonl > session.jsonl  # every record, to verify",
    "skein export 4x8kz1 --format claude-code --install  # continue it in Claude Code",
    "skein export 4x8kz1 --format opencode -o session.json  # then: opencode import session.json",
    "skein export 4x8kz1 --format anthropic > messages.json  # messages for an API",
  ],
  endsUnread: true,
  async run({ args, options, out, engine, session, store, place, untilStopped }) {
    const { format = "bundle" } = options;
    const output = standardOutput.has(options.output) ? undefined : options.output;
    checkWords(options);
    const extra = ["with-forks", "move", "to", "sign"].find(
      (name) => format !== "bundle" && isGiven(options, name),
    );
    if (extra !== undefined) {
      throw new SkeinError("invalid", `export: --${extra} requires a bundle`, { hint: "omit --format" });
    }
    const tool = exportFormats.find((one) => one === format);
    const stray = tool === undefined && ["install", "cwd", "yes"].find((name) => isGiven(options, name));
    if (typeof stray === "string")
      throw new SkeinError("invalid", `export: --${stray} requires the format of another tool`, {
        hint: "add --format claude-code, codex or pi",
      });
    if (isProjectId(args.ID)) {
      const wrong = format === "bundle" ? (options.move ? "move" : "with-forks") : "format";
      if (format !== "bundle" || isGiven(options, wrong)) {
        throw new SkeinError("invalid", `export: --${wrong}: not allowed with a project`, {
          hint: `a project is exported as a bundle, as a copy: skein export ${args.ID} -o x.skein`,
        });
      }
      return exportProject(args.ID, { options, out, engine, place, untilStopped });
    }
    const found = await session(args.ID);
    if (tool !== undefined)
      return exportForTool(found, tool, { ...options, output, out, place, untilStopped });
    if (format === "jsonl" && output === undefined) {
      for await (const record of found.records()) await out.emit(record);
      return;
    }
    if (format === "bundle" && output === undefined && out.columns !== null) {
      throw isBinary(args.ID);
    }
    const opened = await engine();
    const signed = options.sign ? { sign: (await import("../open/keys.ts")).readSigner(process.env) } : {};
    // A moving session stops at the first byte; an unwritable file must fail before.
    const file = await openOutput(output, out, {
      store: (await locateStore(place)).files[0] ?? "",
      replace: options.force,
      untilStopped,
    });
    const { "with-forks": withForks, move } = options;
    const chunks =
      format === "bundle"
        ? opened.export(found.id, { withForks, move, ...present({ to: options.to }), ...signed })
        : pageOf(found, format, await store());
    const size = await file.write(chunks).catch(async (error: unknown) => {
      if (move) throw await movedAlready(found, error);
      // A reader that closes its end (`export … | head`) has what it wanted.
      if (output === undefined && isUnread(error)) return 0;
      throw error;
    });
    if (output === undefined) return;
    await out.answer({ id: found.id, file: output, format, bytes: size, moved: options.move }, () => [
      `wrote ${output}: ${format} of ${found.id}, ${bytes(size)}`,
      ...(options.move ? ["the session lives in the bundle now; import it where it should continue"] : []),
    ]);
  },
});

interface ProjectExport extends Pick<VerbCall, "out" | "engine" | "place" | "untilStopped"> {
  readonly options: { readonly output: string | undefined; readonly force: boolean; readonly sign: boolean };
}

async function exportProject(
  project: string,
  { options, out, engine, place, untilStopped }: ProjectExport,
): Promise<void> {
  const output = standardOutput.has(options.output) ? undefined : options.output;
  if (output === undefined && out.columns !== null) throw isBinary(project);
  const opened = await engine();
  const signed = options.sign ? { sign: (await import("../open/keys.ts")).readSigner(process.env) } : {};
  const file = await openOutput(output, out, {
    store: (await locateStore(place)).files[0] ?? "",
    replace: options.force,
    untilStopped,
  });
  const size = await file.write(opened.exportProject(project, signed)).catch((error: unknown) => {
    if (output === undefined && isUnread(error)) return 0;
    throw error;
  });
  if (output === undefined) return;
  await out.answer({ id: project, file: output, format: "bundle", bytes: size, moved: false }, () => [
    `wrote ${output}: bundle of ${project}, ${bytes(size)}`,
  ]);
}

const isBinary = (id: string): SkeinError =>
  new SkeinError("invalid", "export: a bundle is binary and cannot go to a terminal", {
    hint: `skein export ${id} > x.skein`,
  });

const isGiven = (options: Readonly<Record<string, unknown>>, name: string): boolean =>
  options[name] !== undefined && options[name] !== false;

/** The answer must not follow the bundle. */
const standardOutput = new Set([undefined, "-", "/dev/stdout"]);

/** In the words of the command line, and before anything is opened. */
function checkWords(options: {
  readonly move: boolean;
  readonly "with-forks": boolean;
  readonly to: string | undefined;
}): void {
  if (options.move && options["with-forks"]) {
    throw new SkeinError("invalid", "export: specify --move or --with-forks, not both", {
      hint: "a bundle moves one session; export its forks separately",
    });
  }
  if (options.to !== undefined && !options.move) {
    throw new SkeinError("invalid", "export: --to requires --move", { hint: "add --move" });
  }
}

/** A begun move is not taken back: the same command again finishes it. */
async function movedAlready(session: Session, error: unknown): Promise<unknown> {
  const status = await session.fold().then(
    ({ standing }) => standing.status,
    () => null,
  );
  const own = error instanceof SkeinError ? error : null;
  if (status !== "moved" || own?.code === "refused") return error;
  return new SkeinError(own?.code ?? "unavailable", errorText(error), {
    hint: "the session is already moved; run the same command again to write the bundle",
    cause: error,
  });
}

async function* pageOf(session: Session, format: string, store: Store): AsyncGenerator<Uint8Array> {
  if (format === "jsonl") {
    for await (const record of session.records()) yield Buffer.from(`${jsonText(record)}\n`);
    return;
  }
  const { transcriptPageOf } = await import("../format/transcript.ts");
  const page = await transcriptPageOf(session);
  const texts =
    format === "html"
      ? (await import("../format/transcript-html.ts")).htmlOf(page, (hash) => readImage(store, hash))
      : (await import("../format/transcript-markdown.ts")).markdownOf(page);
  for await (const text of texts) yield Buffer.from(text);
}

async function readImage(store: Store, hash: string): Promise<Uint8Array | null> {
  const chunks = await store.blob(hash);
  if (chunks === undefined) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}
