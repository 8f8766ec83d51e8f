/** The formats that are read, by name. To add one: its file in format/, and its line here. */
import { SkeinError, nearest } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import { claudeCode } from "./format/claude-code.ts";
import { codex } from "./format/codex.ts";
import { gemini } from "./format/gemini.ts";
import { pi } from "./format/pi.ts";
import { chatgpt } from "./format/chatgpt.ts";
import { claudeAi } from "./format/claude-ai.ts";
import { opencode } from "./format/opencode.ts";
import type { TranscriptFormat } from "./format/format.ts";

/** Every format, in the order in which `auto` tries them. */
export const transcriptFormats: readonly TranscriptFormat[] = [
  claudeCode,
  codex,
  opencode,
  pi,
  gemini,
  chatgpt,
  claudeAi,
];

/** The format of this name; an unknown name is an error that lists the known ones. */
export function formatNamed(name: string): TranscriptFormat {
  const found = transcriptFormats.find((format) => format.name === name);
  if (found !== undefined) return found;
  const names = transcriptFormats.map((format) => format.name);
  const near = nearest(name, names);
  throw new SkeinError(
    "invalid",
    `transcript format: expected one of ${names.join(", ")}, got ${quote(name)}`,
    {
      hint: near === undefined ? "skein convert --help lists the formats" : `did you mean "${near}"?`,
    },
  );
}
