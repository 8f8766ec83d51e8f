/** An event of a session's log, as the console reads it. */
import type { RemoteSession } from "../../../client/connect.ts";

export type LogEvent = ReturnType<RemoteSession["events"]> extends AsyncGenerator<infer E> ? E : never;
