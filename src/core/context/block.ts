/** Blocks of the log as blocks of a context: of inputs, of answers, of results. */
import type { Metadata, ModelBlock, UserBlock } from "./part.ts";
import { field, isObject } from "./source.ts";
import { isBlank, textOf } from "./text.ts";

/** Images that every provider with eyes takes. */
const visible = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const blobForm = /^[0-9a-f]{64}$/;

export const text = (given: string): UserBlock => ({ type: "text", text: given.toWellFormed() });

/** What an input says. Whatever is no text, image or file is shown as its JSON, so that nothing is hidden. */
export function userBlocks(content: unknown, images: boolean): readonly UserBlock[] {
  const blocks = field(content, "blocks");
  const given = Array.isArray(blocks) ? (blocks as unknown[]) : [];
  return given.flatMap((one) => userBlock(one, images)).filter((one) => !isBlankText(one));
}

const isBlankText = (block: UserBlock | ModelBlock): boolean => block.type === "text" && isBlank(block.text);

function userBlock(given: unknown, images: boolean): UserBlock[] {
  switch (field(given, "type")) {
    case "text":
    case "reasoning":
      return [text(textOf(field(given, "text")))];
    case "image":
      return [imageBlock(given, images)];
    case "file":
      return [fileBlock(given, images)];
    default:
      return given === undefined || given === null ? [] : [text(textOf(given))];
  }
}

export function imageBlock(given: unknown, images: boolean): UserBlock {
  const { blob, mediaType } = held(given);
  if (blob === null) return text("[an image that cannot be read]");
  if (visible.has(mediaType) && images) return { type: "image", blob, mediaType };
  return text(`[an image (${mediaType}) that this model cannot see]`);
}

/** PDF needs eyes; plain text does not. Of all else the model learns that it is there. */
function fileBlock(given: unknown, images: boolean): UserBlock {
  const { blob, mediaType } = held(given);
  const name = field(given, "name");
  const named = typeof name === "string" ? { name: name.toWellFormed() } : {};
  if (blob === null) return text("[a file that cannot be read]");
  if (visible.has(mediaType)) return imageBlock(given, images);
  if (isText(mediaType) || (mediaType === "application/pdf" && images)) {
    return { type: "file", blob, mediaType, ...named };
  }
  return text(`[a file (${[...Object.values(named), mediaType].join(", ")}) that this model cannot read]`);
}

/** Files that are text, whatever they are about. */
const isText = (mediaType: string): boolean =>
  /^text\/|^application\/(.*\+)?(json|xml|yaml|toml|javascript|typescript|sql|x-sh|x-yaml)$/.test(mediaType);

function held(given: unknown): { readonly blob: string | null; readonly mediaType: string } {
  const blob = field(given, "blob");
  const mediaType = field(given, "mediaType");
  return {
    blob: typeof blob === "string" && blobForm.test(blob) ? blob : null,
    mediaType: typeof mediaType === "string" ? plainType(mediaType) : "of no known kind",
  };
}

const plainType = (mediaType: string): string =>
  (mediaType.split(";")[0] ?? "").trim().toLowerCase().toWellFormed();

/** What a model said that can be said again; its calls are told apart by the caller. */
export function spoken(given: unknown, own: boolean): ModelBlock[] {
  const said = field(given, "text");
  const words = typeof said === "string" ? said.toWellFormed() : "";
  const metadata = metadataOf(given, own);
  switch (field(given, "type")) {
    case "text":
      // Google may sign an answer in a text of its own, without words.
      if (isBlank(words) && metadata.metadata?.["google"] === undefined) return [];
      return [{ type: "text", text: words, ...metadata }];
    case "reasoning":
      // One without words may still carry what the provider wants to see again.
      if (!own || (isBlank(words) && metadata.metadata === undefined)) return [];
      return [{ type: "reasoning", text: words, ...metadata }];
    case "image":
    case "file":
      return [{ type: "text", text: `[${textOf(field(given, "type"))} (${held(given).mediaType})]` }];
    default:
      return [];
  }
}

/** A provider's own words about a block, for that model alone. */
export function metadataOf(given: unknown, own: boolean): { readonly metadata?: Metadata } {
  const metadata = field(given, "metadata");
  return own && isObject(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {};
}

/** Reasoning that leads to nothing is refused by some providers, and helps none. */
export function withoutLooseReasoning(blocks: readonly ModelBlock[]): readonly ModelBlock[] {
  const last = blocks.findLastIndex(({ type }) => type !== "reasoning");
  return blocks.slice(0, last + 1);
}
