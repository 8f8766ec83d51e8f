/** The address of the memory driver, `memory:`; each opening is a separate store. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { StoreDriver } from "../driver.ts";

export const memoryDriver: StoreDriver = (address) => ({
  address: null,
  exists: () => false,
  async open({ world, workspace }) {
    if (!/^memory:$/i.test(address)) {
      throw new SkeinError("invalid", `store: expected "memory:", got ${quote(address)}`, {
        hint: 'a store in memory has no name: "memory:"',
      });
    }
    return (await import("./store.ts")).memoryStore({ world, workspace });
  },
});
