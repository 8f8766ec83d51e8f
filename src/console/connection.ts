/**
 * Whether the server is reachable and accepts the login. Every request of the console passes here; during an
 * outage it retries, and notifies waiting callers once the server is back.
 */
import { cell } from "./signal.ts";
import { after } from "./world.ts";

/** `out`: the server is reachable, but rejects the login of this browser. */
export type ConnectionStatus = "live" | "lost" | "out";

export const connection = cell<ConnectionStatus>("live");
/** Why a login ended; null if there was none, or the user logged out. */
export const why = cell<string | null>(null);
/** Goes up after each reconnect or login: time to read again. */
export const mended = cell(0);

const passing = [502, 503, 504];

/** The number of logins in this page. */
let logins = 0;
/** Whether this login ever succeeded. */
let wasIn = false;

/** Like `fetch`, and observed. During an outage a request waits, and retries only at intervals. */
export async function trackedFetch(url: string, init: RequestInit): Promise<Response> {
  if (connection.get() === "lost") await reached(init.signal ?? undefined);
  const began = logins;
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted !== true) lose();
    throw error;
  }
  if (passing.includes(response.status)) lose();
  else if (response.status !== 401) settle();
  // A response to an earlier login says nothing about this one.
  else if (began === logins) leave(wasIn ? ended : null);
  wasIn ||= response.ok;
  return response;
}

const heldMs = 5_000;

/** Until a request succeeds, the signal is aborted, or a while has passed. */
function reached(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      unwatch();
      end();
      signal?.removeEventListener("abort", go);
      resolve();
    };
    const unwatch = connection.watch(go);
    const end = after(heldMs, go);
    signal?.addEventListener("abort", go);
  });
}

const firstWaitMs = 500;
const waitMsMax = 5_000;
let calledOff: (() => void) | null = null;

function lose(): void {
  if (connection.get() !== "live") return;
  connection.set("lost");
  tryAgain(firstWaitMs);
}

const ended = "Your login has expired or was revoked.";

function leave(because: string | null): void {
  calledOff?.();
  why.set(because);
  connection.set("out");
}

/** Only a login ends the logged-out state: a late response does not. */
function settle(): void {
  if (connection.get() !== "lost") return;
  calledOff?.();
  calledOff = null;
  connection.set("live");
  mended.set(mended.get() + 1);
}

/** Polls the server with a request that needs no login. */
function tryAgain(waitMs: number): void {
  calledOff?.();
  calledOff = after(waitMs, () => {
    void fetch("/healthz", { cache: "no-store" }).then(
      (response) => (response.ok ? settle() : tryAgain(nextWait(waitMs))),
      () => tryAgain(nextWait(waitMs)),
    );
  });
}

const nextWait = (waitMs: number): number => Math.min(waitMsMax, waitMs * 1.5);

/** Immediately: the user is looking, or the machine has a network again. */
export function lookAgain(): void {
  if (connection.get() === "lost") tryAgain(0);
}

/** Logs in with the token of a login link, or a typed one. Null on success, otherwise the reason. */
export async function login(token: string): Promise<string | null> {
  const headers = { authorization: `Bearer ${token}`, "skein-client": "1" };
  let answer: Response;
  try {
    answer = await fetch("/v1/login", { method: "POST", headers });
  } catch {
    return "The server is unreachable.";
  }
  if (answer.ok) {
    logins++;
    connection.set("lost");
    settle();
    return null;
  }
  return "Login failed: the token has expired, was revoked, or belongs to another server.";
}

export async function logout(): Promise<void> {
  await fetch("/v1/logout", { method: "POST", headers: { "skein-client": "1" } }).catch(() => undefined);
  leave(null);
}

/** A token in the fragment of the URL, which browsers never send. It is removed from there. */
export async function loginFromAddress(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  history.replaceState(null, "", location.pathname + location.search);
  const refused = await login(token);
  if (refused !== null) leave(refused);
}

if (typeof window !== "undefined") {
  window.addEventListener("online", lookAgain);
  window.addEventListener("offline", () => lose());
}
