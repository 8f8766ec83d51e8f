/** From what an MCP server answers to what the model is told and the log keeps. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import { ToolOutput } from "./port.ts";

export type McpResult = CallToolResult;

/** `clean` goes over every text, to hide what must not be told. */
export function outputOf(result: McpResult, clean: (text: string) => string): ToolOutput {
  const { content, structuredContent, isError = false } = result;
  const texts = content.map(textOf).filter((text) => text !== undefined);
  // Servers that give structure should give it as text too; not all do.
  const said = texts.length > 0 ? texts.join("\n") : textOfStructure(structuredContent, content.length);
  const images = content.flatMap((block) =>
    block.type === "image"
      ? [{ bytes: new Uint8Array(Buffer.from(block.data, "base64")), mediaType: block.mimeType }]
      : [],
  );
  return new ToolOutput(clean(said), {
    images,
    isError,
    ...(structuredContent === undefined ? {} : { detail: { structured: structuredContent } }),
  });
}

function textOfStructure(structure: unknown, blocks: number): string {
  if (structure !== undefined) return JSON.stringify(structure);
  return blocks === 0 ? "[it gave nothing back]" : "";
}

/** Nothing for images, which are shown. */
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
