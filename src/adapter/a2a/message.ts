/** What a client sends: a message as the input of a session, or as the answer to what a task waits for. */
import type { ContentBlock } from "../../core/schema.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { A2aError, invalid } from "./errors.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A message of the client. */
export interface ClientMessage {
  readonly id: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly parts: readonly Fields[];
}

/** The params of `SendMessage`. */
export interface SendRequest {
  readonly message: ClientMessage;
  readonly tenant: string | null;
  readonly historyLength: number | undefined;
  readonly returnsAtOnce: boolean;
  /** Where the task is to be pushed to. */
  readonly push: Fields | null;
}

/** An answer to a call that waits: an approval, or its result. */
export interface CallAnswer {
  /** The call; undefined: the only one. */
  readonly call: string | undefined;
  readonly approved: boolean | undefined;
  readonly reason: string | undefined;
  /** Present with a result, which may be null. */
  readonly result: { readonly output: unknown; readonly isError: boolean } | undefined;
}

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Reads the params of a message. Fields that it does not know are ignored. */
export function readSendRequest(params: unknown): SendRequest {
  const { message, configuration, tenant } = fieldsOf(params);
  const given = fieldsOf(message);
  const settings = fieldsOf(configuration);
  const { messageId: id, role, parts } = given;
  if (typeof id !== "string" || id === "" || id.length > 1_000)
    throw invalid("message.messageId: expected a text of 1 to 1,000 characters");
  if (role !== "ROLE_USER") throw invalid('message.role: expected "ROLE_USER"');
  if (!Array.isArray(parts) || parts.length === 0)
    throw invalid("message.parts: expected a list of at least one part");
  return {
    message: {
      id,
      contextId: textOf("message.contextId", given["contextId"]) ?? "",
      taskId: textOf("message.taskId", given["taskId"]) ?? "",
      parts: parts.map(fieldsOf),
    },
    tenant: textOf("tenant", tenant) ?? null,
    historyLength: lengthOf(settings["historyLength"]),
    returnsAtOnce: settings["returnImmediately"] === true,
    push: settings["taskPushNotificationConfig"] ? fieldsOf(settings["taskPushNotificationConfig"]) : null,
  };
}

/** A text, or undefined when it is absent or empty, as in the protocol's JSON. */
export function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" && value.length <= 1_000) return value;
  throw invalid(`${name}: expected a text of at most 1,000 characters`);
}

/** A number of messages; undefined: all. */
export function lengthOf(value: unknown): number | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const length = Number(value);
  if (Number.isSafeInteger(length) && length >= 0) return length;
  throw invalid("historyLength: expected an integer from 0");
}

/** The parts of a message as the blocks of an input. Files are stored. */
export async function inputBlocks(engine: Engine, parts: readonly Fields[]): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const part of parts) {
    const { text, raw, url, data, filename } = part;
    if (typeof text === "string") {
      if (text !== "") blocks.push({ type: "text", text });
    } else if (typeof raw === "string") {
      const blob = await engine.putBlob(Buffer.from(raw, "base64"));
      const mediaType = mediaTypeOf(part);
      const name = typeof filename === "string" && filename !== "" ? { name: filename.slice(0, 200) } : {};
      blocks.push(
        mediaType.startsWith("image/")
          ? { type: "image", blob, mediaType }
          : { type: "file", blob, mediaType, ...name },
      );
    } else if (data !== undefined) blocks.push({ type: "text", text: JSON.stringify(data) });
    else if (url !== undefined) {
      const message = "message.parts: a url is not downloaded; send the file itself as raw";
      throw new A2aError("CONTENT_TYPE_NOT_SUPPORTED", message);
    } else throw invalid("message.parts: expected a part with text, raw or data");
  }
  if (blocks.length === 0) throw invalid("message.parts: the message is empty");
  return blocks;
}

function mediaTypeOf({ mediaType }: Fields): string {
  if (mediaType === undefined || mediaType === "") return "application/octet-stream";
  if (typeof mediaType === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(mediaType))
    return mediaType.toLowerCase();
  throw invalid("message.parts: mediaType: expected a media type such as image/png");
}

/** The texts of a message, joined. */
export const textIn = (parts: readonly Fields[]): string =>
  parts.flatMap(({ text }) => (typeof text === "string" && text !== "" ? [text] : [])).join("\n");

/** The answers to calls in a message: its data parts. */
export function callAnswers(parts: readonly Fields[]): readonly CallAnswer[] {
  return parts
    .filter(({ data }) => data !== undefined)
    .map(({ data }) => {
      const { call, approved, reason, output, error } = fieldsOf(data);
      if (call !== undefined && typeof call !== "string")
        throw invalid("message.parts: data.call: expected the id of a call");
      if (typeof approved !== "boolean" && output === undefined && error === undefined)
        throw invalid("message.parts: data: expected { approved }, { output } or { error }");
      const isError = output === undefined && error !== undefined;
      return {
        call,
        approved: typeof approved === "boolean" ? approved : undefined,
        reason: typeof reason === "string" && reason !== "" ? reason.slice(0, 2_000) : undefined,
        result: typeof approved === "boolean" ? undefined : { output: isError ? error : output, isError },
      };
    });
}
