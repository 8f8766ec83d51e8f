/** The result of a call, as the model sees it. */
import type { EventOf } from "../event.ts";
import type { ResultBlock, UserBlock } from "./part.ts";
import { imageBlock } from "./block.ts";
import { field } from "./source.ts";
import { gap, isBlank, textOf } from "./text.ts";

/** What a context needs of a request and an outcome; a call of another tool is both in one record. */
interface RequestedCall {
  readonly seq: number;
  readonly body: { readonly call: string; readonly tool: string };
  readonly content: unknown;
}
interface SettledCall extends Pick<EventOf<"tool.settled">, "seq" | "contentBytes" | "erased"> {
  readonly body: { readonly status: "ok" | "error" | "unknown" | "skipped" };
  readonly content: unknown;
}

export interface ContextCall {
  readonly event: RequestedCall;
  /** The name as offered. */
  readonly tool: string;
  denied: EventOf<"tool.denied"> | null;
  settled: SettledCall | null;
  /** The result has been shown to the model. */
  isShown: boolean;
}

interface Manner {
  readonly isPruned: boolean;
  readonly images: boolean;
}

/** The result of a call. Every call has one, also without an outcome. */
export function resultBlock(call: ContextCall, id: string, manner: Manner): ResultBlock {
  const { tool, settled, denied } = call;
  const shell = { type: "tool-result", call: id, tool } as const;
  if (settled === null) return { ...shell, status: "unknown", text: unanswered };
  const { said, images } = resultText(settled, manner);
  const reason = field(denied?.content, "reason");
  const words =
    denied !== null && settled.content === undefined && typeof reason === "string"
      ? `Denied: ${reason}`
      : said;
  const seen = images.flatMap((one) =>
    one.type === "image" ? [{ blob: one.blob, mediaType: one.mediaType }] : [],
  );
  const unseen = images.flatMap((one) => (one.type === "text" ? [one.text] : []));
  return {
    ...shell,
    status: settled.body.status,
    text: [words, ...unseen].join("\n"),
    ...(seen.length === 0 ? {} : { images: seen }),
  };
}

const unanswered = "No outcome of this call is known. It may or may not have had its effect.";

const silent = {
  ok: "(no output)",
  error: "The call failed and gave no reason.",
  unknown:
    "The outcome of this call is not known: it may or may not have had its effect. It was not run again.",
  skipped: "This call was skipped: it did not run.",
} as const;

/** The text of an outcome, and its images. */
export function resultText(
  event: SettledCall,
  { isPruned, images }: Manner,
): { readonly said: string; readonly images: readonly UserBlock[] } {
  const { status } = event.body;
  if (isPruned) {
    const size = event.contentBytes ?? 0;
    const said = `[output left out, ${size} bytes; recall with fromSeq ${event.seq} reads it]`;
    return { said, images: [] };
  }
  const content: unknown = event.content;
  if (content === undefined && event.erased) return { said: gap("what this call gave back"), images: [] };
  const output = textOf(field(content, "output") ?? "");
  const blocks = field(content, "blocks");
  // A file among the blocks is the whole output; `output` holds the part that is shown.
  const pictures = (Array.isArray(blocks) ? (blocks as unknown[]) : [])
    .filter((one) => field(one, "type") === "image")
    .map((one) => imageBlock(one, images));
  const said = isBlank(output) && pictures.length === 0 ? silent[status] : output;
  return { said: isBlank(said) ? "(an image)" : said, images: pictures };
}
