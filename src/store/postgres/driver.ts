/** The shared parts of the driver. */
import type { StoreWorld } from "../port.ts";
import type { Database } from "./connection/connection.ts";

export interface Driver {
  readonly database: Database;
  /** The number of the tenant; every statement names it. */
  readonly tenant: number;
  readonly world: StoreWorld;
  /** Called after a commit that others should learn of. */
  readonly changed: () => void;
}

export const hexOf = (bytes: unknown): string =>
  Buffer.isBuffer(bytes) ? bytes.toString("hex") : Buffer.from(bytes as Uint8Array).toString("hex");
