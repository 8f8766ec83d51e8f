/** Administration of the tenants of a database. */
import { SkeinError } from "../../core/error.ts";
import { makeWorkspaceId } from "../../core/ids.ts";
import { realWorld } from "../../runtime/world.ts";
import type { Tenants } from "../../store/driver.ts";
import { locateStore } from "../../store/registry.ts";

/** The tenants of the database at this address. */
export async function openHere(place: string): Promise<Tenants> {
  const { tenancy } = await locateStore(place);
  if (tenancy === undefined) {
    throw new SkeinError("refused", `tenants: expected a store in PostgreSQL, got the file ${place}`, {
      hint: "use --store postgres://user@host/database",
    });
  }
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  return tenancy.administer({ world, workspace });
}
