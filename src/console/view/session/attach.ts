/** Files that are to go along with an input: kept by the server as soon as they are given. */
import { engine } from "../../server.ts";
import { imageTypes, type Attached } from "./attachment.tsx";

/** Texts above this go along as a file: a record holds a mebibyte at most, and files are named beside it. */
const textBytesMax = 1_040_000;

/** Longer ones are not put into the field when they are pasted: no browser lays them out in time. */
export const pastedCharsMax = 20_000;

export interface Given {
  readonly id: number;
  /** Of a long text that was pasted: it is sent as text all the same. */
  readonly text: string | null;
  readonly name: string;
  readonly isImage: boolean;
  /** For the small picture; null when it is none. */
  readonly address: string | null;
  /** Once the server has it. */
  readonly attached: Attached | null;
}

let count = 0;

export function givenOf(file: File): Given {
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

export const givenText = (text: string): Given => ({
  id: ++count,
  text,
  name: `Pasted text, ${text.length.toLocaleString("en")} characters`,
  isImage: false,
  address: null,
  attached: null,
});

export async function upload(file: File, { name, isImage }: Given): Promise<Attached> {
  const blob = await engine.putBlob(new Uint8Array(await file.arrayBuffer()));
  const mediaType = /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : "application/octet-stream";
  return isImage ? { type: "image", blob, mediaType } : { type: "file", blob, mediaType, name };
}

/** What a text is called that goes along as a file. */
export const longName = "pasted.txt";

/** In JSON a character takes at most six bytes: what is short is not measured at every key. */
export const isTooLong = (text: string): boolean =>
  text.length > textBytesMax / 6 && new TextEncoder().encode(JSON.stringify(text)).length > textBytesMax;

/** A text that is too long for a record, as a file. */
export async function asFile(text: string): Promise<Attached | null> {
  if (!isTooLong(text)) return null;
  const blob = await engine.putBlob(new TextEncoder().encode(text));
  return { type: "file", blob, mediaType: "text/plain", name: longName };
}
