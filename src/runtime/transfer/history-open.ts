/** The session that a conversation of another tool is imported into: a new one, or a fork of its origin. */
import { present } from "../../core/present.ts";
import type { SessionId } from "../../core/ids.ts";
import type { TranscriptHeader } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { safeText } from "../log/redact.ts";
import { freshSessionId } from "../log/request-scope.ts";
import { callPlaces, forkForImport } from "./history-branches.ts";
import type { ExportedSource } from "./history-export.ts";
import { familyOf } from "./history-family.ts";
import type { ImportTranscriptOptions, TranscriptSource } from "./history.ts";

interface OpeningOptions extends Pick<ImportTranscriptOptions, "parent" | "parentCall" | "verbatim"> {
  /** The record of the parent's call. */
  readonly parentSeq?: number;
}

/** What the tool added to an export continues the session where it was exported. */
export async function forkExported(
  deps: Deps,
  source: TranscriptSource,
  { origin, seq }: ExportedSource,
): Promise<SessionId> {
  const family = await familyOf(deps, source, source.plan.entries);
  const labels = { origin: source.plan.header.tool, ...(family === null ? {} : { family }) };
  return forkForImport(deps, { session: origin, seq }, labels);
}

/** A new session, suspended for review by its first import. */
export async function openFor(
  deps: Deps,
  source: TranscriptSource,
  { parent, parentCall, parentSeq, verbatim }: OpeningOptions,
): Promise<SessionId> {
  const { plan, file } = source;
  const { writer, store, actor } = deps;
  const id = await freshSessionId(deps);
  const safe = (text: string): string => (verbatim === true ? text : safeText(deps.world, text));
  const header = { ...plan.header, title: plan.header.title === null ? null : safe(plan.header.title) };
  const above = parent === undefined ? undefined : await writer.current(parent);
  const family = await familyOf(deps, source, plan.entries);
  const seq = parentSeq ?? (await startOf(deps, parent, parentCall)) ?? above?.seq ?? 1;
  const command = {
    do: "open",
    workspace: store.workspace,
    objective: objectiveOf(header, safe(file)),
    labels: { origin: header.tool, ...(family === null ? {} : { family }) },
    ...present({
      name: line(header.title ?? "", nameCharsMax) || undefined,
      parent: parent === undefined ? undefined : { session: parent, seq },
      depth: above === undefined ? undefined : above.standing.depth + 1,
    }),
  } as const;
  await writer.begin(id, { command }, { actor, verbatim });
  return id;
}

/** The record of the call that started a child. */
async function startOf(deps: Deps, parent?: SessionId, call?: string): Promise<number | undefined> {
  if (parent === undefined || call === undefined) return undefined;
  return (await callPlaces(deps, parent, new Set([call]))).get(call);
}

/** Titles of other tools are often whole messages: the beginning tells sessions apart. */
const nameCharsMax = 80;

/** A transcript says what was done, not what for: the title is the best there is. */
const objectiveOf = ({ tool, title, cwd }: TranscriptHeader, file: string): string =>
  line(title ?? `Conversation of ${tool}${cwd === null ? `, ${file}` : ` in ${cwd}`}`, 1_000);

const line = (text: string, charsMax: number): string =>
  text
    .slice(0, charsMax)
    .toWellFormed()
    .replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ")
    .trim();
