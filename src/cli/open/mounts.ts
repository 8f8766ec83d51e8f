/** The protocols that `skein serve` speaks besides its own. Each loads with its first request. */
import type { Mount } from "../../server/http/mount.ts";

export const mounts: readonly Mount[] = [];
