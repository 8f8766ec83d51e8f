/**
 * Secrets at the boundary of the engine: which values are registered, and how texts, values and bytes are
 * redacted before they are stored. Contents of records go through the seal; everything else goes through
 * here.
 */
import type { Binding } from "../../core/tool/commands.ts";
import { itemKinds } from "../../core/item/kind.ts";
import * as z from "zod";
import { entryOf, eventTypes } from "../../core/catalog.ts";
import { SkeinError } from "../../core/error.ts";
// By its default export: an older Node has no zstd, and must reach the check of its version.
import zlib from "node:zlib";
import { limit } from "../../core/limit.ts";
import { makeRedactor, mayRegister, type Redactor } from "../../core/secret/redactor.ts";
import type { Store } from "../../store/port.ts";
import type { World } from "../world.ts";

/** Values by name, and whether text that merely looks like a secret is removed, too. */
export interface SecretsOptions {
  /** Defaults to true. */
  readonly looksLike?: boolean | undefined;
  /** An undefined value is not registered. */
  readonly [name: string]: string | boolean | undefined;
}

/** The redactor of an engine: a new one, or the one of its world. Rejects values that cannot be secrets. */
export function openRedactor(secrets: SecretsOptions = {}, known?: Redactor): Redactor {
  const { looksLike = true, ...values } = secrets;
  if (typeof looksLike !== "boolean") {
    throw new SkeinError("invalid", "secrets: looksLike: expected true or false");
  }
  const redactor = known ?? makeRedactor({ looksLike, keep: vocabulary });
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (typeof value !== "string") {
      throw new SkeinError("invalid", `secrets: ${JSON.stringify(name)}: expected a string`, {
        hint: "for example { DB_PASSWORD: process.env.DB_PASSWORD }",
      });
    }
    redactor.register(name, value);
  }
  return redactor;
}

/** Pure cache: the words of the program itself. */
let words: ReadonlySet<string> | null = null;

/**
 * The words of the catalog itself. A secret called `completed` cannot mean every outcome: a text that is
 * exactly one of these words stays.
 */
export function vocabulary(): ReadonlySet<string> {
  if (words !== null) return words;
  const roles = ["default", "system", "user", "assistant", "tool", "text", "image", "file"];
  // An agent may have further kinds, so no schema lists those that every session has.
  const found = new Set<string>([...roles, ...itemKinds]);
  const collect = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { enum: choices, const: only, properties, ...rest } = schema as Record<string, unknown>;
    const listed: readonly unknown[] = Array.isArray(choices) ? choices : [];
    for (const one of [...listed, only]) if (typeof one === "string") found.add(one);
    for (const [field, value] of Object.entries(properties ?? {})) {
      found.add(field);
      collect(value);
    }
    for (const value of Object.values(rest)) collect(value);
  };
  for (const type of eventTypes) {
    const entry = entryOf(type);
    for (const part of [entry?.body, entry?.content]) {
      if (part !== undefined) collect(z.toJSONSchema(part, { unrepresentable: "any" }));
    }
  }
  words = found;
  return found;
}

/** Registers a possible secret. A value too short to be detected stays an ordinary word. */
export function learnSecret({ redactor }: Pick<World, "redactor">, name: string, value: unknown): void {
  if (redactor === undefined || typeof value !== "string" || !mayRegister(name, value)) return;
  redactor.register(name, value);
}

/** Registers the values behind the names that bindings list. */
export function learnNamed(world: Pick<World, "redactor" | "secret">, names: unknown): void {
  if (world.redactor === undefined || !Array.isArray(names)) return;
  for (const name of names as readonly unknown[]) {
    if (typeof name === "string") learnSecret(world, name, world.secret(name));
  }
}

type Env = Readonly<Record<string, string | undefined>>;

/** Registers provider keys: those of the environment, and those of a configuration. */
export function learnKeys(
  world: Pick<World, "redactor">,
  env: Env,
  providers: Readonly<Record<string, { readonly key?: unknown } | undefined>> = {},
): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.endsWith("_API_KEY")) learnSecret(world, name, value);
  }
  for (const [name, provider] of Object.entries(providers)) {
    learnSecret(world, `${name.toUpperCase().replaceAll("-", "_")}_API_KEY`, provider?.key);
  }
}

const secretNames = new RegExp(
  "(?:^|_)(?:API_?)?(?:KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_BASE)?$" +
    "|_PWD$|_PASS$",
  "i",
);

/**
 * Registers every variable with a secret-like name. Paths and plain words do not count, whatever their name.
 */
export function learnEnvironment(world: Pick<World, "redactor">, env: Env): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !secretNames.test(name)) continue;
    if (/^(?:[~.]{0,2}\/|[A-Za-z]:\\|[a-z]+$)/.test(value.trim())) continue;
    learnSecret(world, name, value);
  }
}

/** A binding works only as it was given: a secret in one is refused, not removed. */
export function checkBound(world: Pick<World, "redactor">, binding: Binding): void {
  if (safeJson(world, binding) === binding) return;
  throw new SkeinError("invalid", "bind: a binding must not contain a secret", {
    hint: 'name the secret instead: { secrets: ["DB_PASSWORD"] }, on the command line --secret DB_PASSWORD',
  });
}

/** A rule or schema means something else once a part is removed: a secret in it is refused. */
export function checkMeant(redactor: Redactor | undefined, what: string, value: unknown): void {
  if (redactor === undefined || redactor.json(value) === value) return;
  const name = redactor.registeredIn(JSON.stringify(value));
  throw new SkeinError(
    "invalid",
    `${what} must not contain a secret${name === null ? "" : `: it contains ${name}`}`,
    {
      hint: "Skein cannot redact it without changing its meaning; remove the secret",
    },
  );
}

/** A holder name that a caller chose is stored for ever; the default name of a process is not checked. */
export function checkHolder({ redactor, self }: Pick<World, "redactor" | "self">, holder: string): void {
  const given = self === undefined ? holder : holder.replaceAll(self, "");
  const name = redactor?.registeredIn(given) ?? redactor?.sureIn(given) ?? null;
  if (name === null) return;
  throw new SkeinError("invalid", `work: name: contains the secret ${name}`, {
    hint: "worker names are stored and shown to others; choose another name",
  });
}

export const safeText = ({ redactor }: Pick<World, "redactor">, text: string): string =>
  redactor?.text(text) ?? text;

export const safeJson = <T>({ redactor }: Pick<World, "redactor">, value: T): T =>
  redactor === undefined ? value : redactor.json(value);

/** A world that redacts nothing in contents, and refuses them when they hold a registered secret. */
export function refusingWorld(world: World): World {
  const { redactor } = world;
  if (redactor === undefined) return world;
  const jsonText = (text: string): string => {
    const name = redactor.registeredIn(text);
    if (name === null) return text;
    throw new SkeinError("invalid", `append: verbatim: a record contains the secret ${name}`, {
      hint: "remove the secret, or append without verbatim, which redacts it",
    });
  };
  return { ...world, redactor: { ...redactor, jsonText } };
}

/** Larger texts are not searched for lookalikes; registered values are found in them all the same. */
export const textBytesMax = 67_108_864;

/** Stores a text without its secrets; refuses other bytes that hold a registered value. */
function safeBytes(world: Pick<World, "redactor">, bytes: Uint8Array): Uint8Array {
  const { redactor } = world;
  if (redactor === undefined) return bytes;
  const text = bytes.length > textBytesMax ? null : textIn(bytes);
  if (text !== null) {
    const clean = redactor.text(text);
    return clean === text ? bytes : Buffer.from(clean);
  }
  const name = secretInBytes(redactor, bytes);
  if (name === null) return bytes;
  throw new SkeinError("invalid", `the binary data contains the secret ${name}`, {
    hint: "Skein cannot redact binary data; remove the secret first",
  });
}

/** The name of a secret in a file; null when there is none. */
export function secretIn({ redactor }: Pick<World, "redactor">, bytes: Uint8Array): string | null {
  if (redactor === undefined) return null;
  const text = bytes.length > textBytesMax ? null : textIn(bytes);
  return text === null ? secretInBytes(redactor, bytes) : (redactor.find(text)[0]?.name ?? null);
}

export function textIn(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** What a compressed blob may hold at least, however small it is; beyond that, so many times its size. */
const unpackedBytesMin = 16_777_216;
const unpackedTimesMax = 200;

const isZstd = (bytes: Uint8Array): boolean => zstdMagic.equals(bytes.subarray(0, zstdMagic.length));

/** The content of a zstd frame, as the original of an import is kept; other bytes as they are. */
export function unpackedBytes(bytes: Uint8Array): Uint8Array {
  if (!isZstd(bytes)) return bytes;
  const most = Math.max(unpackedBytesMin, bytes.length * unpackedTimesMax);
  try {
    return zlib.zstdDecompressSync(bytes, { maxOutputLength: Math.min(textBytesMax, most) });
  } catch {
    return bytes;
  }
}

const windowBytes = 1_048_576;

export function secretInBytes(redactor: Redactor, bytes: Uint8Array): string | null {
  const look = watchBytes(redactor);
  for (let from = 0; from < bytes.length; from += windowBytes) {
    const name = look(bytes.subarray(from, from + windowBytes));
    if (name !== null) return name;
  }
  return null;
}

/** As long as the longest form of the longest value. */
const overlapChars = 131_072;

/** Searches bytes chunk by chunk; a value across two chunks is found with the second. */
export function watchBytes(redactor: Redactor): (bytes: Uint8Array) => string | null {
  let tail = "";
  return (bytes) => {
    const text = tail + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    tail = text.slice(-overlapChars);
    // Some programs write two bytes for each letter (UTF-16): without the zero bytes it is the same text.
    const wide = text.includes("\0") ? redactor.registeredIn(text.replaceAll("\0", "")) : null;
    return redactor.registeredIn(text) ?? wide;
  };
}

/** A longer compressed blob is searched as it is. */
const packedBytesMax = 8_388_608;

/**
 * Passes chunks on once it is certain that no registered value begins in them; of a compressed blob, the last
 * one once none is in its content.
 */
export async function* watchedChunks(
  { redactor }: Pick<World, "redactor">,
  chunks: AsyncIterable<Uint8Array>,
  found: (name: string) => SkeinError,
): AsyncGenerator<Uint8Array> {
  const look = redactor === undefined ? () => null : watchBytes(redactor);
  let held: Uint8Array | null = null;
  let packed: Uint8Array[] | null = null;
  let size = 0;
  for await (const chunk of chunks) {
    const name = look(chunk);
    if (name !== null) throw found(name);
    if (held === null && isZstd(chunk)) packed = [];
    size += chunk.length;
    if (size > packedBytesMax) packed = null;
    packed?.push(chunk.slice());
    if (held !== null) yield held;
    held = chunk;
  }
  const name =
    packed === null || redactor === undefined
      ? null
      : secretInBytes(redactor, unpackedBytes(Buffer.concat(packed)));
  if (name !== null) throw found(name);
  if (held !== null) yield held;
}

/** Stores bytes without secrets as a blob, and returns the hash of the stored bytes. */
export async function keepBytes(
  { store, world }: { readonly store: Store; readonly world: World },
  bytes: Uint8Array,
  { begins } = { begins: false },
): Promise<string> {
  const safe = safeBytes(world, bytes);
  const hash = world.hashBytes(safe);
  await store.putBlob(hash, chunksOf(safe), { begins });
  return hash;
}

export function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += limit.blobChunkBytesMax) {
    yield bytes.subarray(from, from + limit.blobChunkBytesMax);
  }
}
