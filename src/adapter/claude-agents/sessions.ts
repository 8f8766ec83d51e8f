/** Sessions of the API: opening, showing, listing, changing and ending them. */
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { spendOf } from "../../core/budget/money.ts";
import type { State } from "../../core/state.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import {
  agentSnapshot,
  readAgentParam,
  settingsOf,
  skeinModel,
  type Agents,
  type ClaudeAgent,
} from "./agents.ts";
import { boundBy, type Environments } from "./environments.ts";
import { agentId, agentName, threadId } from "./ids.ts";
import { budgetOf, budgetUsd, centsOf } from "./money.ts";
import { customBindings, permissionsOf, toolsetBindings } from "./tools.ts";
import {
  fieldsOf,
  invalid,
  isFields,
  limitOf,
  listIn,
  patchMetadata,
  rangeIn,
  textOrNull,
  timeText,
  type Fields,
  type ClaudeMetadata,
} from "./values.ts";

/** What a session has beyond Skein's own fields. */
interface SessionRecord {
  readonly agent: Fields;
  readonly environment: string;
  readonly metadata: ClaudeMetadata;
}

const recordType = "x.claude-agents.session";
const agentLabel = "claude.agent";
export const environmentLabel = "claude.environment";

/** A session by its full id: no endings, and nothing but sessions. */
export async function sessionOf(engine: Engine, id: string): Promise<Session> {
  if (!isSessionId(id)) throw new SkeinError("not-found", `there is no session ${id}`);
  const session = await engine.session(id);
  if ((await session.fold()).standing.labels.has("adapter"))
    throw new SkeinError("not-found", `there is no session ${id}`);
  return session;
}

async function recordOf(session: Session, state: State): Promise<SessionRecord> {
  const options = { types: [recordType], reverse: true, limit: 1, toSeq: state.seq };
  for await (const { content } of session.events(options)) if (isFields(content)) return content as never;
  // Not opened here: what Skein itself knows.
  const { agent, model, labels } = state.standing;
  const name = agent?.name ?? "default";
  return {
    agent: {
      id: agentId(name),
      type: "agent",
      version: Math.max(1, agent?.version ?? 1),
      name,
      description: null,
      model: { id: model ?? "default" },
      system: null,
      tools: [],
      mcp_servers: [],
      skills: [],
      multiagent: null,
      execution_identity: { type: "service_account" },
    },
    environment: labels.get(environmentLabel) ?? "env_skein",
    metadata: {},
  };
}

/** Opens a session. The caller appends `initial_events`. */
export async function createSession(
  engine: Engine,
  { agents, environments }: { readonly agents: Agents; readonly environments: Environments },
  body: Fields,
  key: string | undefined,
): Promise<Session> {
  for (const name of ["resources", "vault_ids"])
    if (Array.isArray(body[name]) && body[name].length > 0) throw invalid(`${name}: not supported`);
  const { agent, overrides } = await readAgentParam(agents, body["agent"]);
  const environment = await environments.find(String(body["environment_id"]));
  if (environment.archivedAt !== null)
    throw new SkeinError("refused", `environment ${environment.id} is archived`);
  const title = textOrNull(body["title"], "title", 200);
  const usd = budgetUsd(body["budget"]);
  const shown: ClaudeAgent = overrides === null ? agent : { ...agent, ...settingsOf(overrides, agent) };
  const isOwnTools = overrides?.["tools"] !== undefined;
  const bind = [
    ...boundBy(environment),
    ...(environment.config.type === "self_hosted" ? toolsetBindings(shown.tools) : []),
    ...(isOwnTools ? customBindings(shown.tools) : []),
  ];
  const { model, system } = overrides ?? {};
  const session = await engine.open({
    objective: title ?? `Work as ${agent.name}.`,
    agent: `${agentName(agent.id) ?? ""}@${agent.runs}`,
    ...(title === null ? {} : { name: title }),
    ...(model === undefined ? {} : { model: skeinModel(shown.model.id) }),
    ...(typeof system === "string" ? { instructions: system } : {}),
    ...(bind.length === 0 ? {} : { bind }),
    ...(isOwnTools ? { grant: permissionsOf(shown.tools) } : {}),
    ...(usd === null ? {} : { budget: { usd } }),
    labels: { [agentLabel]: agentName(agent.id) ?? "", [environmentLabel]: environment.id },
    ...(key === undefined ? {} : { key }),
  });
  const metadata = patchMetadata({}, body["metadata"]);
  const content = { agent: agentSnapshot(shown), environment: environment.id, metadata };
  await session.append([{ type: recordType, body: { first: true }, content }], {
    key: "claude-agents-first",
  });
  return session;
}

const statuses: Readonly<Record<string, string>> = {
  running: "running",
  closed: "terminated",
  archived: "terminated",
  moved: "terminated",
};

const statusOf = ({ standing: { status, inbox } }: State): string =>
  statuses[status] ?? (status === "open" && inbox.waiting.length > 0 ? "running" : "idle");

/** A session as the API shows it. */
export async function sessionObject(session: Session): Promise<Fields> {
  const state = await session.fold();
  const { standing } = state;
  const { agent, environment, metadata } = await recordOf(session, state);
  const name = standing.name === null ? null : ((await session.state()).name ?? null);
  const archivedAt = standing.status === "archived" ? state.at : null;
  return {
    id: session.id,
    type: "session",
    status: statusOf(state),
    agent,
    environment_id: environment,
    title: name,
    metadata,
    resources: [],
    vault_ids: [],
    outcome_evaluations: [],
    budget: budgetOf(standing.limits.nanoUsd),
    usage: usageOf(state),
    stats: statsOf(state),
    archived_at: archivedAt === null ? null : timeText(archivedAt),
    created_at: timeText(standing.openedAt),
    updated_at: timeText(state.at),
  };
}

function usageOf(state: State): Fields {
  const { inputTokens, outputTokens, nanoUsd, unpriced } = spendOf(state);
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    // An unknown price is not zero.
    list_cost: unpriced > 0 ? null : centsOf(nanoUsd),
  };
}

const statsOf = ({ at, standing }: State): Fields => ({
  active_seconds: standing.used.wallMs / 1_000,
  duration_seconds: Math.max(0, at - standing.openedAt) / 1_000,
});

/** The only thread of a session: the session itself. */
export async function threadObject(session: Session): Promise<Fields> {
  const { agent, archived_at, created_at, updated_at, stats, status, usage } = await sessionObject(session);
  const shown = { agent, archived_at, created_at, updated_at, stats, status, usage };
  return {
    ...shown,
    id: threadId(session.id),
    type: "session_thread",
    session_id: session.id,
    parent_thread_id: null,
    workflow_run_id: null,
  };
}

/** A page of sessions, the most recently active first. */
export async function listSessions(engine: Engine, query: URLSearchParams): Promise<Fields> {
  const limit = limitOf(query, 20, 100);
  const agent = query.get("agent_id");
  const wanted = listIn(query, "statuses");
  const isCreatedIn = rangeIn(query, "created_at");
  const version = query.get("agent_version");
  const isShown = (one: Fields): boolean =>
    (one["archived_at"] === null || query.get("include_archived") === "true") &&
    (wanted === null || wanted.includes(String(one["status"]))) &&
    (version === null || String((one["agent"] as Fields)["version"]) === version) &&
    isCreatedIn(Date.parse(String(one["created_at"])));
  if (query.get("order") === "asc") throw invalid("order: only desc is supported, by last activity");
  const cursor = query.get("page");
  const page = await engine.sessions({
    limit,
    ...(cursor === null ? {} : { cursor }),
    ...(agent === null ? {} : { labels: { [agentLabel]: agentName(agent) ?? "-" } }),
  });
  const data: Fields[] = [];
  for (const { session: id, labels } of page.rows) {
    if (Object.hasOwn(labels, "adapter")) continue;
    const one = await sessionObject(await engine.session(id));
    if (isShown(one)) data.push(one);
  }
  return { data, next_page: page.cursor, prev_page: null };
}

/** Changes title, metadata, budget, and the tools of the agent. */
export async function updateSession(session: Session, body: Fields): Promise<Fields> {
  const state = await session.fold();
  const before = await recordOf(session, state);
  const { title, metadata, budget, agent } = body;
  const limits = budget === undefined ? null : checkBudget(state, budget);
  const tools =
    agent === undefined ? undefined : settingsOf({ tools: fieldsOf(agent, "agent")["tools"] }, anyAgent);
  if (tools !== undefined && statusOf(state) === "running")
    throw new SkeinError("refused", "agent: a running session keeps its tools", {
      hint: "interrupt it first, or wait until it is idle",
    });
  const patched = patchMetadata(before.metadata, metadata);
  if (typeof title === "string" && title !== "") await session.rename(textOrNull(title, "title", 200) ?? "");
  if (limits !== null) await session.budget(limits);
  if (tools !== undefined) await replaceTools(session, state, before, tools.tools);
  const shown = tools === undefined ? before.agent : { ...before.agent, tools: tools.tools };
  if (metadata !== undefined || tools !== undefined)
    await session.append([
      { type: recordType, body: {}, content: { ...before, agent: shown, metadata: patched } },
    ]);
  return sessionObject(session);
}

const anyAgent: Parameters<typeof settingsOf>[1] = {
  name: "any",
  description: null,
  model: { id: "any" },
  system: null,
  tools: [],
  mcpServers: [],
  skills: [],
  metadata: {},
};

async function replaceTools(
  session: Session,
  { standing }: State,
  { agent, environment }: SessionRecord,
  tools: readonly Fields[],
): Promise<void> {
  const before = [...customBindings((agent["tools"] ?? []) as Fields[])].map(({ name }) => String(name));
  const after = customBindings(tools);
  const isSelfHosted = environment !== "" && standing.bindings.has("bash");
  const toolset = isSelfHosted ? toolsetBindings(tools) : [];
  const names = new Set([...after, ...toolset].map(({ name }) => String(name)));
  const gone = [
    ...before,
    ...(isSelfHosted ? toolsetBindings(allTools) : []).map(({ name }) => String(name)),
  ];
  for (const name of gone) if (!names.has(name) && standing.bindings.has(name)) await session.unbind(name);
  for (const binding of [...after, ...toolset]) await session.bind(binding);
}

const allTools: readonly Fields[] = [{ type: "agent_toolset_20260401" }];

function checkBudget(state: State, budget: unknown): { readonly usd: number } {
  const usd = budgetUsd(budget);
  const { limits } = state.standing;
  if (usd === null || limits.nanoUsd === undefined)
    throw invalid("budget: a budget can be changed, but not added later or removed");
  const { nanoUsd, unconfirmedNanoUsd } = spendOf(state);
  if (usd * 1e9 <= nanoUsd + unconfirmedNanoUsd)
    throw invalid(
      `budget: expected more than the amount spent, ${centsOf(nanoUsd + unconfirmedNanoUsd).amount} cents`,
    );
  return { usd };
}

/** Ends a session and makes it read-only. */
export async function archiveSession(session: Session): Promise<Fields> {
  const state = await session.fold();
  const { status } = state.standing;
  if (statusOf(state) === "running")
    throw new SkeinError("refused", "archive: the session is running", { hint: "interrupt it first" });
  if (status !== "closed" && status !== "archived") await session.close({ outcome: "completed" });
  if (status !== "archived") await session.archive();
  return sessionObject(session);
}
