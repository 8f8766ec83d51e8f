/** An `EnvironmentWorker` of the unmodified client, to be killed. */
import { clientOf } from "./client.ts";

const [url = "", token = "", environmentId = "", workdir = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit(0));
await clientOf(url, token)
  .beta.environments.work.worker({ environmentId, environmentKey: token, workdir, maxIdleMs: 50 })
  .run(new AbortController().signal);
