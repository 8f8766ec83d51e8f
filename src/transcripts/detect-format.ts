/** Detects the tool that wrote a file by reading its first records in each format. */
import { basename } from "node:path";
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { TranscriptFormat } from "./format/format.ts";
import { transcriptFormats } from "./formats.ts";
import type { FoundTranscript } from "./model.ts";
import { readTranscript } from "./read-transcript.ts";
import { SourceFolder } from "./read/source-folder.ts";

/** Title and working directory stand in the first records. */
export const peekBytes = 131_072;
/** The first sessions of a database or an export may be empty. */
const sessionsMax = 20;

/** Only files of lines can be cut: the rest of them is more of the same. */
export function firstBytes(found: FoundTranscript, most: number): FoundTranscript {
  const [file = ""] = found.files;
  if (found.piece !== null || !file.endsWith(".jsonl") || found.bytes <= most) return found;
  return { ...found, piece: { file, from: 0, to: most } };
}

/** The first format that understands the file. */
export async function detectFormat(path: string): Promise<TranscriptFormat> {
  for (const format of transcriptFormats) if (await hasMessages(format, path)) return format;
  throw new SkeinError("invalid", `import: ${quote(basename(path))}: no transcript of a known tool`, {
    hint: `name the tool: ${transcriptFormats.map(({ name }) => name).join(", ")}`,
  });
}

/** Whether this format understands the file. */
async function hasMessages(format: TranscriptFormat, path: string): Promise<boolean> {
  try {
    await using folder = new SourceFolder(path);
    for (const found of (await format.find(folder)).slice(0, sessionsMax)) {
      const { plan } = await readTranscript(folder, firstBytes(found, peekBytes));
      const known = Object.values(plan.report.records).reduce((sum, one) => sum + one, 0);
      const unknown = Object.values(plan.report.unknownTypes).reduce((sum, one) => sum + one, 0);
      if (plan.entries.length > 0 && unknown * 2 < known) return true;
    }
    return false;
  } catch (error) {
    // A locked or unreadable file says nothing about its format.
    if (error instanceof SkeinError && error.code !== "unavailable") return false;
    throw error;
  }
}
