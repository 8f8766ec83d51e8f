/** Notifications of PostgreSQL, on a dedicated connection. */
import type { StoreWorld } from "../../port.ts";
import type { StoreAddress } from "./address.ts";
import { makeHostRing } from "../../../platform/host-ring.ts";
import { openPostgresConnection } from "../../../platform/postgres-connection.ts";

export interface NotificationListener {
  /** With each notification, and its payload. */
  readonly heard: (text: string) => void;
  /** The connection is lost: subscribe again to receive more. */
  readonly lost: () => void;
}

/** Resolves once the server has confirmed the subscription; rejects if it is unreachable. */
export async function listenTo(
  address: StoreAddress,
  world: Pick<StoreWorld, "sleep">,
  channel: string,
  { heard, lost }: NotificationListener,
): Promise<() => Promise<void>> {
  // The library's own LISTEN retries without a pause, or never.
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
