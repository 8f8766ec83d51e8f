/**
 * Stores a blob that arrives in chunks. Memory is bounded for each upload and for all together: small ones
 * are held in memory, larger ones go to an unlinked file, so that an aborted upload leaves nothing.
 */
import { createHash } from "node:crypto";
import { open, mkdtemp, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";
import { keepBytes, textBytesMax, watchBytes } from "./redact.ts";
import type { World } from "../world.ts";

interface BlobUploadDeps {
  readonly store: Store;
  readonly world: World;
}

/** Bytes that all uploads of this process hold. */
const held = { memoryBytes: 0, fileBytes: 0 };

/** Returns the hash of the stored bytes. Rejects when the stream breaks off, and then stores nothing. */
export async function keepStream(place: BlobUploadDeps, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  await using upload = new Upload(place.world);
  for await (const chunk of chunks) await upload.add(chunk);
  const { file } = upload;
  if (file === null) return await keepBytes(place, upload.bytes(), { begins: true });
  if (upload.isText && upload.size <= textBytesMax) {
    return await oneAtATime(async () => keepBytes(place, await file.bytes(upload.size), { begins: true }));
  }
  if (upload.secret !== null) {
    throw new SkeinError("invalid", `putBlob: bytes: contains the secret ${upload.secret}`, {
      hint: "Skein cannot redact binary data; remove the secret first",
    });
  }
  const hash = upload.hash();
  await place.store.putBlob(hash, file.chunks(upload.size), { begins: true });
  return hash;
}

/**
 * Secret detection reads a text as a whole, which takes a multiple of its size. One for the process, whose
 * memory it bounds.
 */
let line: Promise<unknown> = Promise.resolve();
function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  const done = line.then(work);
  line = done.catch(() => undefined);
  return done;
}

class Upload implements AsyncDisposable {
  size = 0;
  isText = true;
  /** The name of a secret found in the bytes. */
  secret: string | null = null;
  file: SpoolFile | null = null;
  readonly #pieces: Uint8Array[] = [];
  readonly #sum = createHash("sha256");
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #look: (bytes: Uint8Array) => string | null;
  #memoryBytes = 0;

  constructor({ redactor }: World) {
    this.#look = redactor === undefined ? () => null : watchBytes(redactor);
  }

  async add(chunk: Uint8Array): Promise<void> {
    this.size += chunk.length;
    if (this.size > limit.blobBytesMax) {
      throw new SkeinError(
        "invalid",
        `putBlob: bytes: expected at most ${limit.blobBytesMax} bytes, got more`,
      );
    }
    this.#sum.update(chunk);
    if (this.isText) this.isText = this.#isStillText(chunk);
    this.secret ??= this.#look(chunk);
    const isLarge =
      this.size > limit.uploadHeldBytesMax || held.memoryBytes + chunk.length > limit.uploadsHeldBytesMax;
    if (this.file === null && isLarge) await this.#spool();
    if (this.file !== null) return this.file.write(chunk);
    // Copies: a small chunk may be part of a large buffer.
    this.#pieces.push(Buffer.from(chunk));
    this.#memoryBytes += chunk.length;
    held.memoryBytes += chunk.length;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }

  hash(): string {
    return this.#sum.digest("hex");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget();
    await this.file?.close();
  }

  async #spool(): Promise<void> {
    this.file = await openSpool();
    for (const piece of this.#pieces) await this.file.write(piece);
    this.#forget();
  }

  #forget(): void {
    held.memoryBytes -= this.#memoryBytes;
    this.#memoryBytes = 0;
    this.#pieces.length = 0;
  }

  #isStillText(chunk: Uint8Array): boolean {
    if (chunk.includes(0)) return false;
    try {
      this.#decoder.decode(chunk, { stream: true });
      return true;
    } catch {
      return false;
    }
  }
}

interface SpoolFile {
  write(chunk: Uint8Array): Promise<void>;
  bytes(size: number): Promise<Uint8Array>;
  chunks(size: number): AsyncGenerator<Uint8Array>;
  close(): Promise<void>;
}

/** A file that is unlinked once it is open, so that nothing is left of it. */
async function openSpool(): Promise<SpoolFile> {
  const folder = await mkdtemp(join(tmpdir(), "skein-upload-"));
  let handle: FileHandle;
  try {
    handle = await open(join(folder, "bytes"), "wx+", 0o600);
  } finally {
    // Where an open file keeps its name, it is removed when it is closed.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
  let written = 0;
  return {
    async write(chunk) {
      if (held.fileBytes + chunk.length > limit.uploadsSpoolBytesMax) {
        throw new SkeinError("unavailable", "putBlob: too many concurrent large uploads", {
          hint: "retry later",
        });
      }
      held.fileBytes += chunk.length;
      written += chunk.length;
      for (let from = 0; from < chunk.length;) {
        from += (await handle.write(chunk, from)).bytesWritten;
      }
    },
    async bytes(size) {
      const bytes = Buffer.allocUnsafe(size);
      await readInto(handle, bytes, 0);
      return bytes;
    },
    async *chunks(size) {
      for (let from = 0; from < size; from += limit.blobChunkBytesMax) {
        const chunk = Buffer.allocUnsafe(Math.min(limit.blobChunkBytesMax, size - from));
        await readInto(handle, chunk, from);
        yield chunk;
      }
    },
    async close() {
      held.fileBytes -= written;
      written = 0;
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readInto(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, from, bytes.length - from, position + from);
    if (bytesRead === 0) throw new Error("invariant: a spooled upload is whole");
    from += bytesRead;
  }
}
