/** The blocks of a prompt as an input of a session. */
import type { ContentBlock } from "../../core/schema.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { PromptBlock } from "./agent-params.ts";
import { RpcError, rpcCode } from "./json-rpc.ts";

const titleCharsMax = 100;

/** Stores images and files, and turns links and embedded texts into text. */
export async function inputOf(engine: Engine, prompt: readonly PromptBlock[]): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  const keep = (data: string): Promise<string> => engine.putBlob(Buffer.from(data, "base64"));
  for (const block of prompt) {
    switch (block.type) {
      case "text":
        blocks.push({ type: "text", text: block.text });
        break;
      case "image":
        blocks.push({ type: "image", blob: await keep(block.data), mediaType: block.mimeType });
        break;
      case "resource_link":
        blocks.push({ type: "text", text: `[${block.name}](${block.uri})` });
        break;
      case "resource": {
        const { uri, text, blob, mimeType } = block.resource;
        const mediaType = mimeType ?? "application/octet-stream";
        if (text !== undefined)
          blocks.push({ type: "text", text: `<resource uri="${uri}">\n${text}\n</resource>` });
        else if (blob !== undefined && mediaType.startsWith("image/"))
          blocks.push({ type: "image", blob: await keep(blob), mediaType });
        else if (blob !== undefined)
          blocks.push({ type: "file", blob: await keep(blob), mediaType, name: uri });
        break;
      }
      case "audio":
        throw new RpcError(rpcCode.invalidParams, "prompt: audio is not supported");
    }
  }
  return blocks;
}

/** All text of an input. */
export const textOf = (blocks: readonly ContentBlock[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

/** A title for lists: the first line with words. */
export function titleOf(blocks: readonly ContentBlock[]): string | null {
  const line = textOf(blocks)
    .split("\n")
    .map((one) => one.replaceAll(/[\u0000-\u001f\u007f]/g, " ").trim())
    .find((one) => one !== "");
  return line === undefined ? null : line.slice(0, titleCharsMax).toWellFormed();
}
