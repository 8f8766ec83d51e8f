/** Notices of PostgreSQL, on a connection of their own. */
import postgres from "postgres";
import type { Address } from "./address.ts";

export interface Hearing {
  /** With each notice, and what was sent with it. */
  readonly heard: (text: string) => void;
  /** The connection is gone, and nothing more is heard: whoever wants to hear listens again. */
  readonly lost: () => void;
}

const connectSeconds = 5;

/** Resolves once the server has said that it will tell; rejects when it cannot be reached. */
export async function listenTo(
  address: Address,
  channel: string,
  { heard, lost }: Hearing,
): Promise<() => Promise<void>> {
  // The library's own way to listen tries again without a breath, or never.
  const options = {
    max: 1,
    idle_timeout: undefined,
    connect_timeout: connectSeconds,
    max_lifetime: null,
    fetch_types: false,
    backoff: false,
    onnotice: () => undefined,
    onnotify: (_: string, text: string) => heard(text),
    onclose: lost,
    connection: { application_name: "skein" },
  };
  const sql = postgres(address.url, options);
  const end = () => sql.end({ timeout: 0 });
  try {
    await sql.unsafe(`LISTEN "${channel}"`);
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}
