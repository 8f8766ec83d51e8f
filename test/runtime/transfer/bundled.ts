/** Bundles as bytes, and how they come in. */
import type { SessionId } from "../../../src/core/ids.ts";
import type { ExportOptions } from "../../../src/runtime/transfer/bundle.ts";
import { all } from "../place.ts";
import type { Home } from "../two-stores.ts";

export const bundleOf = async (
  { engine }: Pick<Home, "engine">,
  id: SessionId,
  options: ExportOptions = {},
): Promise<Buffer> => Buffer.concat(await all(engine.export(id, options)));

/** In pieces of so many bytes, as a pipe would give them. */
export async function* inPieces(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}
