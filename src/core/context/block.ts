/** Blocks of the log as blocks of a context: of inputs, of answers, of results. */
import type { Metadata, ModelBlock, UserBlock } from "./part.ts";
import { field, isObject } from "./source.ts";
import { isBlank, textOf } from "./text.ts";

/** Image types that every provider with image input accepts. */
const visible = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const blobForm = /^[0-9a-f]{64}$/;

export const text = (given: string): UserBlock => ({ type: "text", text: given.toWellFormed() });

/**
 * The blocks of an input. Anything that is not text, image or file appears as its JSON, so that nothing is
 * hidden.
 */
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

/**
 * A PDF needs a model with image input; plain text does not. For any other file the model learns only that it
 * exists.
 */
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

/** Media types that are text. */
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

/** The blocks of a model's answer that can be sent back; the caller handles its tool calls. */
export function spoken(given: unknown, own: boolean): ModelBlock[] {
  const said = field(given, "text");
  const words = typeof said === "string" ? said.toWellFormed() : "";
  const metadata = metadataOf(given, own);
  switch (field(given, "type")) {
    case "text":
      // Google may sign an answer in a separate text block without words.
      if (isBlank(words) && metadata.metadata?.["google"] === undefined) return [];
      return [{ type: "text", text: words, ...metadata }];
    case "reasoning":
      // A block without words may still carry metadata that the provider needs back.
      if (!own || (isBlank(words) && metadata.metadata === undefined)) return [];
      return [{ type: "reasoning", text: words, ...metadata }];
    case "image":
    case "file":
      return [{ type: "text", text: `[${textOf(field(given, "type"))} (${held(given).mediaType})]` }];
    default:
      return [];
  }
}

/** A provider's metadata of a block, only for the same model. */
export function metadataOf(given: unknown, own: boolean): { readonly metadata?: Metadata } {
  const metadata = field(given, "metadata");
  return own && isObject(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {};
}

/** Some providers reject reasoning without a following block, and it helps none. */
export function withoutLooseReasoning(blocks: readonly ModelBlock[]): readonly ModelBlock[] {
  const last = blocks.findLastIndex(({ type }) => type !== "reasoning");
  return blocks.slice(0, last + 1);
}
