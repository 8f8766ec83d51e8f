/** OpenAPI 3.1: a machine-readable description of the HTTP API, made from the table of operations. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import type { Operation } from "../call/operation.ts";
import { operationIds, operationOf } from "../call/operations.ts";
import { meOperation, mePath } from "./me.ts";
import { Problem, problemStatuses, type ProblemCode } from "./problem.ts";
import { queryForms } from "./query.ts";

type Json = Readonly<Record<string, unknown>>;

/** The errors of every operation. */
const always: readonly ProblemCode[] = [
  "invalid",
  "unauthorized",
  "forbidden",
  "not-found",
  "refused",
  "wrong-method",
  "not-acceptable",
  "timed-out",
  "too-long",
  "misdirected",
  "rate-limited",
  "header-too-large",
  "corrupt",
  "unavailable",
];
const ofChanges: readonly ProblemCode[] = ["conflict", "precondition-failed", "too-large", "wrong-type"];

export interface DescribeOptions {
  readonly version: string;
  /** The name of the login cookie. */
  readonly cookie: string;
}

export function describeApi({ version, cookie }: DescribeOptions): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const id of operationIds) {
    const operation = operationOf(id);
    const methods = (paths[operation.path] ??= {});
    methods[operation.method.toLowerCase()] = describeOperation(id, operation);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Skein",
      summary: "The session engine for AI agents, over HTTP.",
      description:
        "The same calls, under the same names, as the library. Every change takes an Idempotency-Key: done " +
        "again with the same key and body it gives what it gave, and is not done twice. If-Match holds a " +
        "change to the position that the caller knows.",
      version,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }, { cookie: [] }],
    tags: [
      { name: "engine", description: "Sessions as a whole, and what the workspace knows." },
      { name: "session", description: "One session." },
      { name: "server", description: "The server itself, and who comes in." },
    ],
    paths: { ...paths, ...describeBesides() },
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        cookie: { type: "apiKey", in: "cookie", name: cookie },
      },
      schemas: { Problem: schemaOf(Problem, "output") },
    },
  };
}

function describeOperation(id: string, operation: Operation): Json {
  const changes = operation.method !== "GET";
  return {
    operationId: id,
    tags: [operation.of],
    summary: operation.summary,
    "x-skein-scope": operation.scope,
    "x-skein-args": operation.args,
    parameters: [
      ...(operation.path.includes("{id}") ? [sessionParameter] : []),
      ...(operation.takes === "json" ? [] : queryParameters(operation)),
      ...(changes ? changeHeaders : []),
      ...(operation.streams ? [lastEventId] : []),
    ],
    ...(operation.takes === "query" ? {} : { requestBody: bodyOf(operation) }),
    responses: { ...answersOf(operation), ...problemsOf(changes ? [...always, ...ofChanges] : always) },
  };
}

const sessionParameter = {
  name: "id",
  in: "path",
  required: true,
  description: "The session's id, or a unique suffix of it (at least 4 characters).",
  schema: { type: "string", minLength: 1, maxLength: 64 },
};
const changeHeaders = [
  {
    name: "Idempotency-Key",
    in: "header",
    description: "The caller's own name for the change. A second one with it is not written.",
    schema: { type: "string", minLength: 1, maxLength: limit.idempotencyKeyCharsMax },
  },
  {
    name: "If-Match",
    in: "header",
    description: 'Written only if the session is at this position: "12".',
    schema: { type: "string", pattern: '^"?[0-9]{1,15}"?$' },
  },
];
const lastEventId = {
  name: "Last-Event-ID",
  in: "header",
  description: "The id of the last event that was received; the stream resumes after it.",
  schema: { type: "string", maxLength: 1_000 },
};

function queryParameters(operation: Operation): Json[] {
  const forms = queryForms(operation);
  const { properties = {}, required = [] } = schemaOf(operation.params, "input") as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => {
    const plain =
      forms.get(name) !== "json" || ["integer", "number", "boolean"].includes(String(schema["type"]));
    const said = { name, in: "query", ...(required.includes(name) ? { required: true } : {}) };
    // Structured values are JSON.
    if (!plain) return { ...said, content: { "application/json": { schema } } };
    // Explicit although it is the default: generators differ about it.
    const isList = forms.get(name) === "list";
    return isList ? { ...said, style: "form", explode: true, schema } : { ...said, schema };
  });
}

function bodyOf(operation: Operation): Json {
  if (operation.takes === "bytes") {
    return {
      required: true,
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
    };
  }
  const schema = schemaOf(operation.params, "input");
  const isNeeded = (schema["required"] as readonly string[] | undefined)?.length ?? 0;
  return { required: isNeeded > 0, content: { "application/json": { schema } } };
}

function answersOf(operation: Operation): Json {
  const { gives, answer, streams } = operation;
  if (gives === "nothing") return { "204": { description: "Done." } };
  const stream = {
    "text/event-stream": {
      schema: { type: "string" },
      "x-skein-event": gives === "stream" ? schemaOf(answer, "output") : {},
    },
  };
  if (gives === "stream") return { "200": { description: "Events as they come.", content: stream } };
  if (gives === "bytes") {
    const bytes = { schema: { type: "string", format: "binary" } };
    const types = operation.call === "records" ? "application/x-ndjson" : "application/octet-stream";
    return { "200": { description: "The bytes.", content: { [types]: bytes } } };
  }
  const content = { "application/json": { schema: schemaOf(answer, "output") }, ...(streams ? stream : {}) };
  return { "200": { description: "The answer.", content } };
}

function problemsOf(codes: readonly ProblemCode[]): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const status = problemStatuses[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const content = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [String(status), { description: some.join(", "), content }]),
  );
}

/** In the dialect of OpenAPI 3.1. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return withItems(rest) as Json;
}

/**
 * Tuples as lists of so many items: linters require `items` in every list, and client generators do not know
 * `prefixItems`.
 */
function withItems(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withItems);
  if (typeof schema !== "object" || schema === null) return schema;
  const { prefixItems, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, withItems(value)]),
  );
  if (rest["type"] !== "array" || !Array.isArray(prefixItems))
    return prefixItems === undefined ? rest : { ...rest, prefixItems };
  const kinds = [...new Map(prefixItems.map((one) => [JSON.stringify(one), one as Json])).values()];
  const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
  return { ...rest, items, minItems: prefixItems.length, maxItems: prefixItems.length };
}

interface ExtraRoute {
  readonly id: string;
  readonly summary: string;
  readonly parameters?: readonly Json[];
  readonly body?: Json;
  /** Whether no token is needed. */
  readonly open?: boolean;
  readonly answers: Json;
}

const describeBeside = ({ id, summary, parameters = [], body, open = false, answers }: ExtraRoute): Json => ({
  operationId: `server.${id}`,
  tags: ["server"],
  summary,
  parameters,
  ...(body === undefined ? {} : { requestBody: body }),
  ...(open ? { security: [] } : {}),
  responses: { ...answers, ...problemsOf(always) },
});

const jsonAnswer = (status: number, schema: Json): Json => ({
  [status]: { description: "The answer.", content: { "application/json": { schema } } },
});
const done = { "204": { description: "Done." } };
const isUp = jsonAnswer(200, { type: "object", properties: { status: { const: "ok" } } });

/** A cross-site page cannot send it. */
const clientHeader = {
  name: "Skein-Client",
  in: "header",
  required: true,
  description: "That it is meant.",
  schema: { type: "string", const: "1" },
};
const hookToken = {
  name: "token",
  in: "path",
  required: true,
  description: "Of the webhook; TENANT~TOKEN where it is of another tenant than the server's own.",
  schema: { type: "string", minLength: 1, maxLength: 300 },
};

/** Routes that are not calls of the library. */
function describeBesides(): Json {
  const { summary, answer } = meOperation;
  const parameters = [clientHeader];
  const text = { "200": { description: "The figures.", content: { "text/plain": { schema: {} } } } };
  const took = {
    type: "object",
    properties: { session: { type: "string" }, duplicate: { type: "boolean" } },
  };
  const gets: Readonly<Record<string, ExtraRoute>> = {
    [mePath]: { id: "me", summary, answers: jsonAnswer(200, schemaOf(answer, "output")) },
    "/metrics": { id: "metrics", summary: "Figures for Prometheus.", answers: text },
    "/healthz": { id: "healthz", summary: "Whether the process lives.", open: true, answers: isUp },
    "/readyz": { id: "readyz", summary: "Whether the store answers.", open: true, answers: isUp },
  };
  const posts: Readonly<Record<string, ExtraRoute>> = {
    "/v1/login": {
      id: "login",
      summary: "Logs a page in: from the token in Authorization to a cookie.",
      parameters,
      answers: done,
    },
    "/v1/logout": { id: "logout", summary: "Takes the cookie away.", parameters, open: true, answers: done },
    "/v1/hooks/{token}": {
      id: "hook",
      summary: "Fires the trigger of a webhook, with whatever body there is.",
      parameters: [hookToken],
      body: { content: { "*/*": { schema: {} } } },
      open: true,
      answers: jsonAnswer(202, took),
    },
  };
  const described = (method: string, all: Readonly<Record<string, ExtraRoute>>): [string, Json][] =>
    Object.entries(all).map(([path, one]) => [path, { [method]: describeBeside(one) }]);
  return Object.fromEntries([...described("get", gets), ...described("post", posts)]);
}
