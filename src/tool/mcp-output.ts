/** Converts an MCP result into what the model sees and the log keeps. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { limit } from "../core/limit.ts";
import { ToolOutput } from "./port.ts";

type McpResult = CallToolResult;

/** A result with unvalidated blocks: a newer server may have kinds that this SDK does not know. */
export const LooseResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
});

/** The result with every unknown or invalid block as its JSON: the call took effect. */
export async function readResult(result: z.infer<typeof LooseResult>): Promise<McpResult> {
  const { ContentBlockSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const content = result.content.map((block): ContentBlock => {
    const known = ContentBlockSchema.safeParse(block);
    return known.success ? known.data : { type: "text", text: JSON.stringify(block) };
  });
  return { ...result, content };
}

/**
 * `clean` processes every text, to hide secrets. Servers repeat an image in their structure, and the
 * structure in a text: the image is kept once, and every copy of its base64 becomes a note.
 */
export function outputOf(result: McpResult, clean: (text: string) => string): ToolOutput {
  const { content, structuredContent, isError = false } = result;
  const images = new Map<string, string>();
  for (const block of content) if (block.type === "image") images.set(block.data, block.mimeType);
  const structured = structuredContent === undefined ? undefined : withoutImages(structuredContent, images);
  const texts = content.map(textOf).filter((text) => text !== undefined);
  // A server with structured output should also send it as text; not all do.
  const said = texts.length > 0 ? texts.join("\n") : textOfStructure(structured, content.length);
  return new ToolOutput(clean(withoutBase64(said, images)), {
    images: [...images].map(([data, mediaType]) => ({ bytes: Buffer.from(data, "base64"), mediaType })),
    isError,
    ...(structured === undefined ? {} : { detail: { structured } }),
  });
}

/** Shorter ones may occur as ordinary words, and are harmless. */
const base64CharsMin = 64;

const noteOf = (mediaType: string): string => `[${mediaType.slice(0, 100)}, shown as an image]`;

function withoutBase64(text: string, images: ReadonlyMap<string, string>): string {
  let plain = text;
  for (const [data, mediaType] of images) {
    if (data.length < base64CharsMin) continue;
    // In JSON inside a text a slash may be escaped.
    for (const form of [data, data.replaceAll("/", "\\/")]) plain = plain.replaceAll(form, noteOf(mediaType));
  }
  return plain;
}

/** The structure with notes in place of images, which are added to `images`. */
function withoutImages(structure: unknown, images: Map<string, string>): unknown {
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const mediaType = value.length < base64CharsMin ? undefined : images.get(value);
      return mediaType === undefined ? value : noteOf(mediaType);
    }
    if (typeof value !== "object" || value === null || depth > limit.jsonDepthMax) return value;
    if (Array.isArray(value)) return value.map((one: unknown) => walk(one, depth + 1));
    const { type, data, mimeType } = value as Readonly<Record<string, unknown>>;
    if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
      if (!images.has(data)) images.set(data, mimeType);
      return { ...value, data: noteOf(mimeType) };
    }
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, depth + 1)]));
  };
  return walk(structure, 1);
}

function textOfStructure(structure: unknown, blocks: number): string {
  if (structure !== undefined) return JSON.stringify(structure);
  return blocks === 0 ? "[it gave nothing back]" : "";
}

/** Undefined for images, which are shown. */
function textOf(block: ContentBlock): string | undefined {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return undefined;
    case "audio":
      return `[audio, ${block.mimeType}, which cannot be shown]`;
    case "resource_link":
      return `[${block.name}: ${block.uri}]`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return `[${resource.uri}]\n${resource.text}`;
      return `[${resource.uri}, ${resource.mimeType ?? "bytes"}, which cannot be shown]`;
    }
  }
}
