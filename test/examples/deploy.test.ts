/**
 * Keeps deploy/ true where there is no Docker: the image is built by the same commands in a clean folder, and
 * its worker runs; the compose file is held against what may stand in it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { parse } from "yaml";
import { z } from "zod";
import { limit } from "../../src/core/limit.ts";
import { parseAddress } from "../../src/store/postgres/connection/address.ts";
import { noPostgres, postgresDriver, serverUrl } from "../postgres/place.ts";
import { root } from "../repo/source.ts";
import { build, lastOf, parseDockerfile } from "./dockerfile.ts";

const read = (path: string): string => readFileSync(join(root, "deploy", path), "utf8");
const skip = await noPostgres();

const Seconds = z.string().regex(/^\d+s$/);
const Healthcheck = z.strictObject({
  test: z.tuple([z.literal("CMD")], z.string()),
  interval: Seconds,
  timeout: Seconds,
  start_period: Seconds,
  retries: z.int(),
});
const service = {
  environment: z.record(z.string(), z.string()),
  command: z.array(z.string()).min(1),
  volumes: z.array(z.string().regex(/^\w+:\/[\w/]+$/)),
  restart: z.literal("unless-stopped"),
  stop_grace_period: Seconds,
};
const Compose = z.strictObject({
  name: z.string(),
  services: z.strictObject({
    database: z.strictObject({
      ...service,
      image: z.string().regex(/^postgres:\d+$/),
      shm_size: z.string(),
      healthcheck: Healthcheck,
    }),
    worker: z.strictObject({
      ...service,
      build: z.strictObject({ context: z.string(), dockerfile: z.string() }),
      env_file: z.array(z.strictObject({ path: z.string(), required: z.boolean() })),
      tmpfs: z.array(z.string()),
      depends_on: z.strictObject({ database: z.strictObject({ condition: z.literal("service_healthy") }) }),
      init: z.literal(true),
      cap_drop: z.tuple([z.literal("ALL")]),
      security_opt: z.tuple([z.literal("no-new-privileges:true")]),
    }),
  }),
  volumes: z.record(z.string(), z.null()),
});

const stages = parseDockerfile(read("Dockerfile"));
const sent = [...read("Dockerfile.dockerignore").matchAll(/^!(.+)$/gm)].map(([, path = ""]) => path);
const compose = Compose.parse(parse(read("compose.yaml")));
const { database, worker } = compose.services;

suite("the image of a worker", () => {
  test("uses the Node that the project is tested with, and an unprivileged user", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    assert.deepEqual(
      new Set(stages.map(({ image }) => image)),
      new Set([`node:${devDependencies["node"]}-slim`]),
    );
    assert.equal(lastOf(stages, "USER"), "node");
    assert.match(read("Dockerfile.dockerignore"), /^\*$/m);
  });

  suite("built in a clean folder", { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-deploy-"));
    let image = "";
    before(async () => {
      image = await build(stages, folder, sent);
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    test("runs a worker that is well until it is stopped", { timeout: 60_000 }, async () => {
      const [cmd, healthcheck] = [lastOf(stages, "CMD"), lastOf(stages, "HEALTHCHECK")];
      const words = JSON.parse(cmd) as string[];
      assert.deepEqual(worker.command.slice(0, words.length), words);
      const env = environmentOf(image, await postgresDriver());
      const isWell = async (): Promise<boolean> => {
        const line = healthcheck.replace(/^.*?CMD /, "");
        const [code] = (await once(spawn("sh", ["-c", line], { cwd: folder, env }), "exit")) as [number];
        return code === 0;
      };
      assert.equal(await isWell(), false);
      const [program = "", ...rest] = worker.command;
      const child = spawn(program, rest, { cwd: join(image, lastOf(stages, "WORKDIR")), env });
      const ended = once(child, "exit");
      try {
        while (!(await isWell())) {
          assert.equal(child.exitCode, null, "the worker has ended");
          await sleep(50);
        }
      } finally {
        child.kill(lastOf(stages, "STOPSIGNAL") as NodeJS.Signals);
      }
      assert.deepEqual(await ended, [143, null]);
      assert.equal(await isWell(), false);
    });
  });
});

suite("the compose file", () => {
  test("refuses unknown settings", () => {
    const odd = parse(read("compose.yaml").replace("init: true", "inti: true")) as unknown;
    assert.equal(Compose.safeParse(odd).success, false);
  });

  test("holds no secret: each comes from a file outside the repository", () => {
    const ignored = readFileSync(join(root, ".gitignore"), "utf8").split("\n");
    const asked = Object.entries({ ...database.environment, ...worker.environment })
      .filter(([name]) => /PASSWORD|KEY|TOKEN|SECRET/.test(name))
      .map(([, value]) => /^\$\{(\w+):\?[^}]+\}$/.exec(value)?.[1]);
    assert.deepEqual(new Set(asked), new Set(["SKEIN_DB_PASSWORD"]));
    assert.match(read("env.example"), /^SKEIN_DB_PASSWORD=$/m);
    for (const path of [".env", ...worker.env_file.map(({ path }) => path)])
      assert.ok(ignored.includes(`deploy/${path}`), path);
    assert.equal(new URL(worker.environment["SKEIN_STORE"] ?? "").password, "");
  });

  test("leads the worker to the database, and leaves it the time to finish its steps", () => {
    const { url, connections } = parseAddress(worker.environment["SKEIN_STORE"] ?? "");
    const { POSTGRES_USER: user, POSTGRES_DB: name } = database.environment;
    assert.equal(url, `postgres://${user}@database/${name}`);
    // What the worker waits for answers where the worker asks, by TCP; the socket is there before that.
    assert.deepEqual(database.healthcheck.test.slice(1), [
      "pg_isready",
      "--host=127.0.0.1",
      `--username=${user}`,
      `--dbname=${name}`,
    ]);
    assert.ok(connections < Number(settings()["max_connections"]));
    assert.ok(Number.parseInt(worker.stop_grace_period, 10) * 1_000 > limit.closeGraceMs);
    assert.deepEqual(worker.build, { context: "..", dockerfile: "deploy/Dockerfile" });
    assert.ok(worker.volumes.some((volume) => volume.endsWith(`:${lastOf(stages, "VOLUME")}`)));
  });

  test("keeps data in volumes, and requires a supported PostgreSQL", () => {
    const used = [...database.volumes, ...worker.volumes].map((volume) => volume.split(":")[0]);
    assert.deepEqual(new Set(used), new Set(Object.keys(compose.volumes)));
    const major = Number(database.image.split(":")[1]);
    assert.ok(major >= 15);
    // From 18 on the image keeps each version in a folder of its own, below this one.
    assert.deepEqual(database.volumes, [`database:/var/lib/postgresql${major < 18 ? "/data" : ""}`]);
  });

  test("sets only what PostgreSQL has", { skip }, async () => {
    const sql = postgres(await serverUrl(), { max: 1 });
    try {
      const names = Object.keys(settings());
      const found = await sql`SELECT name FROM pg_settings WHERE name IN ${sql(names)}`;
      assert.deepEqual(new Set(found.map(({ name }) => name as string)), new Set(names));
    } finally {
      await sql.end();
    }
  });
});

/** What the database's command sets. */
function settings(): Readonly<Record<string, string>> {
  const words = database.command.slice(1).filter((word) => word !== "-c");
  return Object.fromEntries(words.map((word) => word.split("=", 2) as [string, string]));
}

/** What a worker finds in its container, with another database. */
function environmentOf(image: string, place: { readonly url: string }): NodeJS.ProcessEnv {
  const asked = new URL(worker.environment["SKEIN_STORE"] ?? "").searchParams;
  const store = new URL(place.url);
  for (const [name, value] of asked) store.searchParams.set(name, value);
  const path = [join(image, "usr/local/bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(":");
  const set = Object.fromEntries(
    (stages.at(-1)?.instructions ?? [])
      .filter(({ word }) => word === "ENV")
      .map(({ rest }) => rest.split("=", 2) as [string, string]),
  );
  return { ...set, PATH: path, HOME: image, SKEIN_STORE: store.href, PGPASSWORD: "not asked for" };
}
