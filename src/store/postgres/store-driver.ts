/** Addresses of the PostgreSQL driver: `postgres://user:password@host:5432/database?tenant=acme`. */
import type { StoreDriver } from "../driver.ts";
import { addressWith, shownAddress, tenantAt } from "./connection/address.ts";

export const postgresDriver: StoreDriver = (address) => ({
  shown: shownAddress(address),
  async open({ lockWaitMs: _, ...options }) {
    return (await import("./store.ts")).postgresStore({ ...options, url: address });
  },
  tenancy: {
    tenant: tenantAt(address),
    addressOf: (tenant) => addressWith(address, tenant),
    async holds(workspace, world) {
      return (await import("./tenant/tenants.ts")).holdsWorkspace({ url: address, world, workspace });
    },
    async administer(options) {
      return (await import("./tenant/tenants.ts")).openTenants({ ...options, url: address });
    },
  },
  diagnose: async (world, opened) => (await import("./diagnose.ts")).diagnose(address, world, opened),
});
