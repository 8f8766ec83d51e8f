/** The description of the API: whole, of the right form, and made of schemas that can be read elsewhere. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeApi } from "../../src/protocol/openapi.ts";
import { operationIds, operationOf } from "../../src/call/operations.ts";

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}
const api = describeApi({ version: "1.2.3", cookie: "skein-7717" }) as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};
const described = Object.values(api.paths).flatMap((methods) => Object.values(methods));

test("every operation is described, under its own address, once", () => {
  assert.equal(api.openapi, "3.1.0");
  const calls = described.map(({ operationId }) => operationId).filter((id) => !id.startsWith("server."));
  assert.deepEqual(calls.toSorted(), operationIds.toSorted());
  for (const id of operationIds) {
    const { path, method } = operationOf(id);
    assert.equal(api.paths[path]?.[method.toLowerCase()]?.operationId, id);
  }
});

test("routes that are not calls of the library are described too", () => {
  const others = described.map(({ operationId }) => operationId).filter((id) => id.startsWith("server."));
  const wanted = ["hook", "healthz", "login", "logout", "me", "metrics", "readyz"];
  assert.deepEqual(others.toSorted(), wanted.map((id) => `server.${id}`).toSorted());
});

test("each names its parameters, results and errors", () => {
  for (const { operationId, parameters, responses } of described) {
    const names = parameters.map(({ name, in: where }) => `${where} ${name}`);
    assert.equal(new Set(names).size, names.length, operationId);
    const good = Object.keys(responses).filter((status) => status.startsWith("2"));
    assert.equal(good.length, 1, operationId);
    for (const status of ["400", "401", "403", "404", "429"]) assert.ok(status in responses, operationId);
  }
});

test("every reference in it leads somewhere", () => {
  const text = JSON.stringify(api);
  const references = [...text.matchAll(/"\$ref":"(#[^"]*)"/g)].map(([, reference]) => reference ?? "");
  assert.ok(references.length > 0);
  for (const reference of new Set(references)) {
    const found = reference
      .slice(2)
      .split("/")
      .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], api);
    assert.ok(found !== undefined, reference);
  }
});

test("items in every list and a license satisfy Spectral and Redocly", () => {
  const lists: string[] = [];
  const look = (value: unknown, where: string): void => {
    if (typeof value !== "object" || value === null) return;
    const { type, items, prefixItems } = value as Readonly<Record<string, unknown>>;
    if (type === "array" && (typeof items !== "object" || prefixItems !== undefined)) lists.push(where);
    for (const [name, inner] of Object.entries(value)) look(inner, `${where}.${name}`);
  };
  look(api, "");
  assert.deepEqual(lists, []);
  const { license } = (api as unknown as { readonly info: { readonly license: unknown } }).info;
  assert.deepEqual(license, { name: "MIT", identifier: "MIT" });
});

test("a list in the query is the same name several times, and says so", () => {
  const all = described.flatMap(({ operationId, parameters }) =>
    (parameters as readonly Readonly<Record<string, unknown>>[]).flatMap((one) =>
      (one["schema"] as { readonly type?: string } | undefined)?.type === "array"
        ? [[`${operationId} ${String(one["name"])}`, one["style"], one["explode"]]]
        : [],
    ),
  );
  assert.ok(all.length >= 4);
  for (const [where, style, explode] of all)
    assert.deepEqual([style, explode], ["form", true], String(where));
});
