/** The targets that are written, by name. */
import { nearest, SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { Transcript, WrittenTranscript } from "./model.ts";
import { writeClaudeCode } from "./write/claude-code.ts";
import { writeCodex } from "./write/codex.ts";
import { writeJsonl } from "./write/jsonl.ts";
import { writeAiSdkMessages, writeAnthropicMessages, writeOpenaiMessages } from "./write/messages.ts";
import { writeOpencode } from "./write/opencode.ts";
import { writeHtml, writeMarkdown } from "./write/page.ts";
import { writePi } from "./write/pi.ts";

const writers: Readonly<Record<string, (transcript: Transcript) => WrittenTranscript>> = {
  "claude-code": writeClaudeCode,
  codex: writeCodex,
  opencode: writeOpencode,
  pi: writePi,
  markdown: writeMarkdown,
  html: writeHtml,
  jsonl: writeJsonl,
  "ai-sdk": writeAiSdkMessages,
  openai: writeOpenaiMessages,
  anthropic: writeAnthropicMessages,
};

/** The names that `writeTranscript` takes. */
export const transcriptTargets: readonly string[] = Object.keys(writers);

/** Throws for a name that `writeTranscript` does not take. */
export function checkTarget(target: string): void {
  if (Object.hasOwn(writers, target)) return;
  const near = nearest(target, transcriptTargets);
  throw new SkeinError(
    "invalid",
    `transcript target: expected one of ${transcriptTargets.join(", ")}, got ${quote(target)}`,
    { hint: near === undefined ? "skein convert --help lists the targets" : `did you mean "${near}"?` },
  );
}

/**
 * Writes a session in another tool's format, as a page, or as plain messages. The same session gives the same
 * bytes; `left` lists what the target cannot express.
 */
export function writeTranscript(target: string, transcript: Transcript): WrittenTranscript {
  checkTarget(target);
  return (writers[target] ?? writeJsonl)(transcript);
}
