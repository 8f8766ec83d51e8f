/** The description is true: every operation of /openapi.json, with what fits it and with what does not. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { compileSchema } from "../../src/runtime/message/schema.ts";
import { fitting, type Schema } from "./from-schema.ts";
import { served, type Served } from "./served.ts";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly content?: { readonly "application/json": { readonly schema: Schema } };
}
interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Described {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Response>>;
}
interface Api {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Of each operation, so many that fit and so many that do not. */
const each = 2;
/** What would touch files outside of the test, or run a plan. */
const tamed: Readonly<Record<string, object>> = { "engine.runTickets": { dryRun: true } };
const pathNames = ["path", "files", "directory"];

function inFolder(value: unknown, folder: string, name = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => inFolder(one, folder, name));
  if (typeof value === "string" && pathNames.includes(name)) return join(folder, "nothing");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inFolder(one, folder, key)]));
}

async function ask(
  place: Served,
  { path, method, operation }: { path: string; method: string; operation: Described },
  params: Readonly<Record<string, unknown>>,
): Promise<{ status: number; type: string; body: string }> {
  const session = await place.engine.open({ objective: "Described" });
  const query = new URLSearchParams();
  const json = operation.requestBody?.content["application/json"];
  for (const { name, in: where, schema } of json === undefined ? operation.parameters : []) {
    const value = params[name];
    if (where !== "query" || value === undefined) continue;
    const many = schema?.type === "array" && Array.isArray(value) ? value : [value];
    for (const one of many) query.append(name, typeof one === "string" ? one : JSON.stringify(one));
  }
  const over = new AbortController();
  const bytes = operation.requestBody === undefined ? {} : { body: "bytes" };
  const response = await place.fetch(
    `${path.replace("{id}", session.id)}?${query.toString()}`.replace(/\?$/, ""),
    {
      method: method.toUpperCase(),
      headers: json === undefined ? {} : { "content-type": "application/json" },
      ...(json === undefined ? bytes : { body: JSON.stringify(params) }),
      signal: over.signal,
    },
  );
  const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const isStream = type === "text/event-stream";
  const body = isStream ? "" : await response.text();
  if (isStream) over.abort();
  return { status: response.status, type, body };
}

function checkAnswer(
  api: Api,
  operation: Described,
  answer: { status: number; type: string; body: string },
): void {
  const where = `${operation.operationId}: ${answer.status} ${answer.body.slice(0, 500)}`;
  const described = operation.responses[String(answer.status)];
  assert.ok(described !== undefined, `not described: ${where}`);
  assert.notEqual(answer.status, 500, where);
  if (answer.status === 204) return;
  const content = described.content?.[answer.type];
  assert.ok(content !== undefined, `of another type, ${answer.type}: ${where}`);
  if (!/^application\/(problem\+)?json$/.test(answer.type)) return;
  const isProblem = answer.type === "application/problem+json";
  const schema = isProblem ? api.components.schemas["Problem"] : content.schema;
  assert.deepEqual(compileSchema(schema)(JSON.parse(answer.body)), [], where);
}

/** What may be given to an operation, as one object. */
function paramsSchema({ parameters, requestBody }: Described): Schema {
  const json = requestBody?.content["application/json"];
  if (json !== undefined) return json.schema;
  const taken = parameters.filter((parameter) => parameter.in === "query");
  return {
    type: "object",
    properties: Object.fromEntries(
      taken.map(({ name, schema, content }) => [name, schema ?? content?.["application/json"].schema ?? {}]),
    ),
    required: taken.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

const misfits: Readonly<Record<string, unknown>> = {
  string: { no: "text" },
  integer: "no number",
  number: "no number",
  boolean: "perhaps",
  array: 5,
  object: "no object",
};

/** The same with one mistake, and the field where it is. */
function spoiled(schema: Schema, params: Readonly<Record<string, unknown>>, turn: number) {
  const wrong = Object.entries(schema.properties ?? {}).filter(
    ([, { type, pattern }]) => type !== undefined && type !== "string" && pattern === undefined,
  );
  const [required] = schema.required ?? [];
  const chosen = wrong[turn % Math.max(1, wrong.length)];
  if (turn % 3 === 1 && required !== undefined) {
    const { [required]: _gone, ...rest } = params;
    return { params: rest, field: required };
  }
  if (turn % 3 === 2 && chosen !== undefined)
    return { params: { ...params, [chosen[0]]: misfits[chosen[1].type ?? ""] }, field: chosen[0] };
  return { params: { ...params, unheardOf: "x" }, field: "unheardOf" };
}

test("every operation accepts its description, refuses the rest, and answers accordingly", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-test-"));
  try {
    await using place = await served();
    const api = (await (await place.fetch("/openapi.json")).json()) as Api;
    let asked = 0;
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const schema = paramsSchema(operation);
        const seed = operation.operationId.length * 7919 + 8;
        const made = fc.sample(fitting(schema), { numRuns: each, seed }) as Record<string, unknown>[];
        for (const [turn, given] of made.entries()) {
          const params = { ...(inFolder(given, folder) as object), ...tamed[operation.operationId] };
          const call = { path, method, operation };
          checkAnswer(api, operation, await ask(place, call, params));
          asked += 2;
          if (operation.requestBody?.content["application/json"] === undefined) continue;
          const bad = spoiled(schema, params, turn);
          const refused = await ask(place, call, bad.params);
          checkAnswer(api, operation, refused);
          assert.equal(refused.status, 400, `${operation.operationId}: ${refused.body}`);
          const { field = "" } = JSON.parse(refused.body) as { field?: string };
          assert.ok(field.startsWith(bad.field), `${operation.operationId}: ${bad.field}, ${refused.body}`);
        }
      }
    }
    assert.ok(asked > 200);
    assert.deepEqual(place.troubles, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
