/** SHA-256 as core wants it given, made with node:crypto and nothing of Skein. */
import { createHash } from "node:crypto";
import type { Digest } from "../../src/core/chain.ts";

export const digest: Digest = (prefixHex, text) =>
  createHash("sha256").update(Buffer.from(prefixHex, "hex")).update(text, "utf8").digest("hex");
