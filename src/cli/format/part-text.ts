/** Parts of a context as people read them. */
import { plain } from "./text.ts";
import type { ContextPart } from "../../core/context/part.ts";
import { argumentsOf } from "../chat/turn-printer.ts";

/** The kind of a part, in a word or two. */
export function partName(part: ContextPart): string {
  switch (part.part) {
    case "message":
      return part.role === "assistant" ? "model" : part.role;
    case "tools":
      return `tools (${part.tools.length})`;
    case "settings":
    case "system":
      return part.part;
  }
}

/** The text of a part. */
export function partText(part: ContextPart): string {
  switch (part.part) {
    case "settings":
      return Object.entries(part.settings)
        .map(([name, value]) => `${name}=${plain(value)}`)
        .join(" ");
    case "tools":
      return part.tools.map(({ name }) => name).join(", ");
    case "system":
      return part.text;
    case "message":
      return part.content.map(blockText).join("\n");
  }
}

type MessageBlock = Extract<ContextPart, { readonly part: "message" }>["content"][number];

function blockText(block: MessageBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "reasoning":
      return `(thinking) ${block.text}`;
    case "tool-call":
      return `→ ${block.tool} ${argumentsOf(block.input)}  (${block.call})`;
    case "tool-result":
      return `← ${block.tool} ${block.status} (${block.call}): ${block.text}`;
    case "image":
    case "file":
      return `[${block.type}: ${block.mediaType}]`;
  }
}
