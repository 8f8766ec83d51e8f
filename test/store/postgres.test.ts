/**
 * The PostgreSQL driver against the conformance suite. Every case is a tenant of its own, on a server that no
 * other test writes to: whoever holds a transaction open there holds up the feed of all.
 */
import { after } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { conformance } from "../../src/store/conformance/conformance.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { startPostgres } from "../postgres/server.ts";
import { workspace } from "../runtime/place.ts";

const { sleep, defer } = realWorld();
const server = await startPostgres({ inMemory: true });
after(() => server.stop());
const database = await server.newDatabase();
let tenants = 0;

conformance({
  name: "postgres",
  open: async (given) => {
    const url = `${database}?tenant=t${++tenants}`;
    const world = { ...given, sleep, defer };
    const start = () => postgresStore({ url, world, workspace, clock: "world" });
    return { store: await start(), reopen: start, done: async () => undefined };
  },
});
