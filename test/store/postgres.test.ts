/** The PostgreSQL driver against the conformance suite. Every case is a tenant of its own. */
import { realWorld } from "../../src/runtime/world.ts";
import { conformance } from "../../src/store/conformance.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { postgresPlace } from "../postgres/place.ts";
import { workspace } from "../runtime/place.ts";

const { sleep, defer } = realWorld();

conformance({
  name: "postgres",
  open: async (given) => {
    const place = await postgresPlace();
    const world = { ...given, sleep, defer };
    const start = () => postgresStore({ url: place.url, world, workspace, clock: "world" });
    return { store: await start(), reopen: start, done: () => place.done() };
  },
});
