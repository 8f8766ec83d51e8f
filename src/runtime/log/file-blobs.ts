/** File versions of a store, stored as blobs. */
import type { Deps } from "../deps.ts";
import type { FileBlobs } from "../../tool/port.ts";
import { chunksOf, secretIn } from "./redact.ts";

/** The store's blobs, for file versions. */
export function fileBlobs({ store, world }: Pick<Deps, "store" | "world">): FileBlobs {
  return {
    async put(bytes) {
      const secret = secretIn(world, bytes);
      if (secret !== null) return { secret };
      const hash = world.hashBytes(bytes);
      await store.putBlob(hash, chunksOf(bytes));
      return hash;
    },
    async get(blob) {
      const chunks = await store.blob(blob);
      if (chunks === undefined) return undefined;
      const parts: Uint8Array[] = [];
      for await (const chunk of chunks) parts.push(chunk);
      return Buffer.concat(parts);
    },
  };
}
