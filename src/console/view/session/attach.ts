/** Files to attach to an input: uploaded as soon as they are added. */
import { engine } from "../../server.ts";
import { imageTypes, type Attachment } from "./attachment.tsx";

/** A longer text becomes a file: a record holds at most a mebibyte, including file references. */
const textBytesMax = 1_040_000;

/** A longer pasted text does not go into the field: no browser lays it out in time. */
export const pastedCharsMax = 20_000;

export interface FileInput {
  readonly id: number;
  /** Of a long pasted text: it is still sent as text. */
  readonly text: string | null;
  readonly name: string;
  readonly isImage: boolean;
  /** For the thumbnail; null without one. */
  readonly address: string | null;
  /** Set once the server has it. */
  readonly attached: Attachment | null;
}

let count = 0;

export function givenOf(file: File): FileInput {
  const isImage = imageTypes.includes(file.type);
  return {
    id: ++count,
    text: null,
    name: file.name === "" ? "pasted" : file.name,
    isImage,
    address: isImage ? URL.createObjectURL(file) : null,
    attached: null,
  };
}

export const givenText = (text: string): FileInput => ({
  id: ++count,
  text,
  name: `Pasted text, ${text.length.toLocaleString("en")} characters`,
  isImage: false,
  address: null,
  attached: null,
});

export async function upload(file: File, { name, isImage }: FileInput): Promise<Attachment> {
  const blob = await engine.putBlob(new Uint8Array(await file.arrayBuffer()));
  const mediaType = /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : "application/octet-stream";
  return isImage ? { type: "image", blob, mediaType } : { type: "file", blob, mediaType, name };
}

/** The name of a text that is sent as a file. */
export const longName = "pasted.txt";

/** In JSON a character takes at most six bytes: a short text is not measured on every key. */
export const isTooLong = (text: string): boolean =>
  text.length > textBytesMax / 6 && new TextEncoder().encode(JSON.stringify(text)).length > textBytesMax;

/** A text that is too long for a record, as a file. */
export async function asFile(text: string): Promise<Attachment | null> {
  if (!isTooLong(text)) return null;
  const blob = await engine.putBlob(new TextEncoder().encode(text));
  return { type: "file", blob, mediaType: "text/plain", name: longName };
}
