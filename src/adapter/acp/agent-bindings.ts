/** What an editor's workspace gives a session: its folders, a shell, its MCP servers. */
import { isAbsolute } from "node:path";
import type { Binding } from "../../core/tool/commands.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { AcpMcpServer, SessionPlace } from "./agent-params.ts";
import { RpcError, rpcCode } from "./json-rpc.ts";

/** The label of sessions that an editor opened. */
export const openedHere = { via: "acp" } as const;

/** `none`: no shell. `ask`: without a sandbox; each command asks first. */
export type AcpShell = "sandbox" | "ask" | "none";

export interface BindingOptions {
  readonly shell: AcpShell;
  /** Gives the process a secret that a binding names: the log never has its value. */
  readonly setSecret: (name: string, value: string) => void;
}

export function bindingsOf(place: SessionPlace, options: BindingOptions): Binding[] {
  const shell: Binding[] =
    options.shell === "none"
      ? []
      : [{ kind: "shell", ...(options.shell === "sandbox" && { sandbox: true }) }];
  // A shell without a path works in the first directory when sandboxed, else in this process's own.
  const [first] = directoriesOf(place);
  const located = shell.map((one) => ({ ...one, path: first ?? place.cwd }));
  return [...folders(place), ...located, ...place.mcpServers.map((server) => serverBinding(server, options))];
}

/** Each once: an additional directory may repeat the workspace. */
function directoriesOf({ cwd, additionalDirectories }: SessionPlace): string[] {
  const paths = [cwd, ...additionalDirectories];
  const wrong = paths.find((path) => !isAbsolute(path));
  if (wrong !== undefined)
    throw new RpcError(rpcCode.invalidParams, `cwd: expected an absolute path, got ${JSON.stringify(wrong)}`);
  return [
    ...new Set(paths.map((path) => (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path))),
  ];
}

const folders = (place: SessionPlace): Binding[] =>
  directoriesOf(place).map((path) => ({ kind: "directory", path, mode: "write" }));

/** Not secret, and in every process already: the server alone gets the editor's values. */
const plainVariables = new Set(["PATH", "HOME", "LANG", "SHELL", "TERM", "TMPDIR", "USER", "NODE_ENV"]);

function serverBinding(server: AcpMcpServer, { setSecret }: BindingOptions): Binding {
  const { name } = server;
  if (!("url" in server)) {
    const { command, args, env } = server;
    const secrets = env.filter(({ name: variable }) => !plainVariables.has(variable));
    for (const { name: variable, value } of secrets) setSecret(variable, value);
    const plain = env.filter(({ name: variable }) => plainVariables.has(variable));
    const names = secrets.map(({ name: variable }) => variable);
    const options = { env: Object.fromEntries(plain.map(({ name: variable, value }) => [variable, value])) };
    const more = { ...(names.length > 0 && { secrets: names }), ...(plain.length > 0 && { options }) };
    return { kind: "mcp", name, command: [command, ...args], ...more };
  }
  const { type, url, headers } = server as Extract<AcpMcpServer, { url: string }>;
  if (type === "sse") throw new RpcError(rpcCode.invalidParams, `mcpServers: ${name}: sse is not supported`);
  const [header, ...others] = headers;
  if (others.length > 0)
    throw new RpcError(rpcCode.invalidParams, `mcpServers: ${name}: at most one header is supported`);
  if (header === undefined) return { kind: "mcp", name, url };
  const variable = `SKEIN_ACP_${name}_${header.name}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
  const isBearer = header.name.toLowerCase() === "authorization" && /^bearer /i.test(header.value);
  setSecret(variable, isBearer ? header.value.slice("bearer ".length) : header.value);
  return {
    kind: "mcp",
    name,
    url,
    secrets: [variable],
    ...(!isBearer && { options: { header: header.name } }),
  };
}

/** The absolute paths of bound directories, in their order. */
export async function boundDirectories(session: Session): Promise<{ name: string; path: string }[]> {
  const { bindings } = (await session.fold()).standing;
  const bound = [...bindings.entries()].filter(([, { kind }]) => kind === "directory");
  const found: { name: string; path: string }[] = [];
  for (const [name] of bound) {
    // By default the path is the name.
    if (isAbsolute(name)) found.push({ name, path: name });
  }
  return found;
}

/** A session that an editor opened follows it to another folder; any other keeps its own bindings. */
export async function rebind(session: Session, place: SessionPlace, options: BindingOptions): Promise<void> {
  const { labels } = (await session.fold()).standing;
  if (labels.get("via") !== openedHere.via) return;
  const paths = directoriesOf(place);
  const before = await boundDirectories(session);
  const isSame = before.length === paths.length && before.every(({ path }) => paths.includes(path));
  if (!isSame) {
    for (const { name, path } of before) if (!paths.includes(path)) await session.unbind(name);
    const known = new Set(before.map(({ path }) => path));
    for (const one of bindingsOf({ ...place, mcpServers: [] }, options))
      if (one.kind !== "directory" || !known.has(one.path ?? "")) await session.bind(one);
  }
  for (const server of place.mcpServers) await session.bind(serverBinding(server, options));
}
