/** Notices of PostgreSQL, on a connection of their own. */
import type { StoreWorld } from "../../port.ts";
import type { Address } from "./address.ts";
import { makeHostRing } from "../../../platform/host-ring.ts";
import { openPostgresConnection } from "../../../platform/postgres-connection.ts";

export interface Hearing {
  /** With each notice, and what was sent with it. */
  readonly heard: (text: string) => void;
  /** The connection is gone, and nothing more is heard: whoever wants to hear listens again. */
  readonly lost: () => void;
}

/** Resolves once the server has said that it will tell; rejects when it cannot be reached. */
export async function listenTo(
  address: Address,
  world: Pick<StoreWorld, "sleep">,
  channel: string,
  { heard, lost }: Hearing,
): Promise<() => Promise<void>> {
  // The library's own way to listen tries again without a breath, or never.
  const { sql, end } = openPostgresConnection(address.url, world, {
    hosts: address.hosts.length === 0 ? null : makeHostRing(address.hosts),
    idle_timeout: undefined,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    onnotify: (_: string, text: string) => heard(text),
    onclose: lost,
    connection: { application_name: "skein" },
  });
  try {
    await sql.unsafe(`LISTEN "${channel}"`);
    return () => end();
  } catch (error) {
    await end();
    throw error;
  }
}
